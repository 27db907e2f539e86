package flags

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	full, empty, large := file("full", "  s3cret\n"), file("empty", "\n"), file("large", strings.Repeat("x", maxSecret+1))
	for _, row := range []struct {
		name string
		env  map[string]string
		args []string
		want string
		err  string
	}{
		{"neither", nil, nil, "", ""},
		{"a value", nil, []string{"--key", "k"}, "k", ""},
		{"a file", nil, []string{"--key-file", full}, "s3cret", ""},
		{"both", nil, []string{"--key", "k", "--key-file", full}, "", "--key and --key-file are mutually exclusive"},
		{"an empty file", nil, []string{"--key-file", empty}, "", "is empty"},
		{"a file that is too large", nil, []string{"--key-file", large}, "", "at most 65536 bytes"},
		{"no such file", nil, []string{"--key-file", filepath.Join(dir, "none")}, "", "--key-file"},
		{"a variable", map[string]string{"CAIRN_KEY": "v"}, nil, "v", ""},
		{"a variable of a file", map[string]string{"CAIRN_KEY_FILE": full}, nil, "s3cret", ""},
		{"a file takes precedence over a variable", map[string]string{"CAIRN_KEY": "v"}, []string{"--key-file", full},
			"s3cret", ""},
		{"a value takes precedence over a variable of a file", map[string]string{"CAIRN_KEY_FILE": full},
			[]string{"--key", "k"}, "k", ""},
		{"an empty value takes precedence, too", map[string]string{"CAIRN_KEY_FILE": full}, []string{"--key", ""}, "", ""},
		{"two variables", map[string]string{"CAIRN_KEY": "v", "CAIRN_KEY_FILE": full}, nil, "",
			"--key and --key-file are mutually exclusive"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var value string
			cmd := &cobra.Command{}
			Secret(cmd.Flags(), &value, "key", "", "`KEY`")
			if err := cmd.ParseFlags(row.args); err != nil {
				t.Fatal(err)
			}
			err := SetUnset(cmd, func(name string) string { return row.env[name] })
			if (err == nil) != (row.err == "") || err != nil && !strings.Contains(err.Error(), row.err) {
				t.Fatalf("got error %v, want %q", err, row.err)
			}
			if err == nil && value != row.want {
				t.Errorf("got %q, want %q", value, row.want)
			}
		})
	}
}

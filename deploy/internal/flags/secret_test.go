package flags

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestSecretFiles(t *testing.T) {
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
	for _, c := range []struct {
		name string
		args []string
		want string
		err  string
	}{
		{"neither", nil, "", ""},
		{"a value", []string{"--key", "k"}, "k", ""},
		{"a file", []string{"--key-file", full}, "s3cret", ""},
		{"both", []string{"--key", "k", "--key-file", full}, "", "--key and --key-file"},
		{"an empty file", []string{"--key-file", empty}, "", "is empty"},
		{"a file that is too large", []string{"--key-file", large}, "", "at most 65536 bytes"},
		{"no such file", []string{"--key-file", filepath.Join(dir, "none")}, "", "--key-file"},
	} {
		var value string
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		Secret(f, &value, "key", "", "`KEY`")
		err := f.Parse(c.args)
		if err == nil {
			err = fromFiles(f)
		}
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v, want %q", c.name, err, c.err)
		}
		if err == nil && value != c.want {
			t.Errorf("%s: %q, want %q", c.name, value, c.want)
		}
	}
}

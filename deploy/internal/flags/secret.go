package flags

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"
)

// maxSecret is the maximum size of a file with a secret, in bytes.
const maxSecret = 64 << 10

// fileSuffix is the suffix of the flag for a file with the value of another flag.
const fileSuffix = "-file"

// Secret defines a flag for a secret and one for a file that contains it: flag values
// are visible to other processes of the machine.
func Secret(f *pflag.FlagSet, p *string, name, value, usage string) {
	f.StringVar(p, name, value, usage)
	f.String(name+fileSuffix, "", "`FILE` that contains the value of --"+name+", which hides it from the process list")
}

// fromFiles sets the flags whose values are in files.
func fromFiles(flags *pflag.FlagSet) error {
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		name, isFile := strings.CutSuffix(f.Name, fileSuffix)
		secret := flags.Lookup(name)
		if !isFile || secret == nil || f.Value.String() == "" {
			return
		}
		if secret.Changed {
			errs = append(errs, fmt.Errorf("--%s and --%s are mutually exclusive", name, f.Name))
			return
		}
		value, err := readSecret(f.Value.String())
		if err == nil {
			err = flags.Set(name, value)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", f.Name, err))
		}
	})
	return errors.Join(errs...)
}

// readSecret returns the content of a file without leading and trailing white space.
func readSecret(path string) (string, error) {
	file, err := os.Open(path) // #nosec G304 -- a path from the configuration
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // opened for reading only
	text, err := io.ReadAll(io.LimitReader(file, maxSecret+1))
	value := strings.TrimSpace(string(text))
	switch {
	case err != nil:
		return "", err
	case len(text) > maxSecret:
		return "", fmt.Errorf("%s: expected at most %d bytes", path, maxSecret)
	case value == "":
		return "", fmt.Errorf("%s is empty", path)
	}
	return value, nil
}

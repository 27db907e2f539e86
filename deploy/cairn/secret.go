package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"
)

// maxSecret bounds a file with a secret, in bytes.
const maxSecret = 64 << 10

// fileSuffix ends the name of the flag for a file with the value of another flag.
const fileSuffix = "-file"

// secretVar defines a flag for a secret, and a second one for a file that holds
// it: the values of flags are visible to other processes of the machine.
func secretVar(f *pflag.FlagSet, p *string, name, value, usage string) {
	f.StringVar(p, name, value, usage)
	f.String(name+fileSuffix, "", "`FILE` that contains the value of --"+name+", which hides it from the process list")
}

// fromFiles sets each flag whose value is in a file.
func fromFiles(flags *pflag.FlagSet) error {
	var all []error
	flags.VisitAll(func(f *pflag.Flag) {
		name, isFile := strings.CutSuffix(f.Name, fileSuffix)
		secret := flags.Lookup(name)
		if !isFile || secret == nil || f.Value.String() == "" {
			return
		}
		if secret.Changed {
			all = append(all, fmt.Errorf("--%s and --%s are mutually exclusive", name, f.Name))
			return
		}
		value, err := readSecret(f.Value.String())
		if err == nil {
			err = flags.Set(name, value)
		}
		if err != nil {
			all = append(all, fmt.Errorf("--%s: %w", f.Name, err))
		}
	})
	return errors.Join(all...)
}

// readSecret returns the text of a file without white space around it.
func readSecret(path string) (string, error) {
	file, err := os.Open(path) // #nosec G304 -- the file that the settings name
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(file, maxSecret+1))
	value := strings.TrimSpace(string(text))
	switch {
	case err != nil:
		return "", err
	case len(text) > maxSecret:
		return "", fmt.Errorf("%s: want at most %d bytes", path, maxSecret)
	case value == "":
		return "", fmt.Errorf("%s is empty", path)
	}
	return value, nil
}

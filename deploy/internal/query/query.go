// Package query implements the commands for what agents read at runtime: searches, packages of skills and
// the tags of requests.
package query

import "github.com/spf13/cobra"

// Commands returns the commands search and resolve.
func Commands() []*cobra.Command { return []*cobra.Command{searchCommand(), resolveCommand()} }

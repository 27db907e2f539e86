// Package operations implements the commands of operators: health, search index, API keys,
// backups, cluster membership and the version.
package operations

import "github.com/spf13/cobra"

// Commands returns the commands in the order of the help.
func Commands() []*cobra.Command {
	return []*cobra.Command{statusCommand(), reindexCommand(), keyCommand(), backupCommand(), restoreCommand(),
		clusterCommand(), whoamiCommand(), versionCommand()}
}

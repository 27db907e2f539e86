// Package services runs the work behind the edge: tags, register, resolve and
// analyze, each in a folder of its own. Run is the one place that wires them
// to their backends.
package services

// Roles are the services there are, in the order in which they start.
func Roles() []string { return []string{"tags", "register", "resolve", "analyze"} }

// Package peers compares package estate with SQLite as an oracle for random queries, and
// its speed with that of other programs. It is a separate module, so that SQLite is not
// a dependency of Cairn.
package peers

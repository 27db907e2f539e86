// Package peers compares package estate with SQLite, which is its oracle for
// random queries, and its speed with that of other programs. It is a module of
// its own: SQLite is no dependency of Cairn.
package peers

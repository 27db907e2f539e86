// Package peers tests package estate with random queries and SQLite as an oracle, and compares its
// speed with other programs. It is a separate module, so that SQLite is not
// a dependency of Cairn.
package peers

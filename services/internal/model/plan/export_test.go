package plan

// LinkValues links the values of a call over an array.
func LinkValues(a *Array, c *Call) []Problem { return linkValues(a, c) }

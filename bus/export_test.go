package bus

// AsKnown exports asKnown.
var AsKnown = asKnown

// Running returns how many requests of s run.
func Running(s *Service) int64 { return s.gate.Running() }

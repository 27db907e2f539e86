package server

import "errors"

// syncPolicy is the value of --sync. Each policy keeps acknowledged writes when the process crashes.
type syncPolicy string

const (
	syncSecond syncPolicy = "1s"
	syncAlways syncPolicy = "always"
)

// Set implements pflag.Value.
func (s *syncPolicy) Set(text string) error {
	switch policy := syncPolicy(text); policy {
	case syncSecond, syncAlways:
		*s = policy
		return nil
	default:
		return errors.New("expected 1s or always")
	}
}

// String implements pflag.Value.
func (s *syncPolicy) String() string { return string(*s) }

// Type implements pflag.Value.
func (s *syncPolicy) Type() string { return "string" }

// guarantee describes the acknowledged writes that survive a failure.
func (s *syncPolicy) guarantee(clustered bool) string {
	switch {
	case *s == syncAlways:
		return "acknowledged writes survive a power failure"
	case clustered:
		return "acknowledged writes survive a crash; a power failure of a majority of the nodes may lose the last second"
	default:
		return "acknowledged writes survive a crash; a power failure may lose the last second"
	}
}

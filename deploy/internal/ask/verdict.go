package ask

import (
	"errors"
	"slices"
	"strings"

	"cairn/deploy/internal/output"
	"cairn/edge/client"
	"cairn/schemas"
)

// verdict decides whether an answer succeeded.
type verdict struct {
	strict   bool // unsupported or unchecked figures are an error
	reported bool // the error event is printed

	failed      error
	checked     bool
	unsupported []string // distinct figures in the order of the answer
}

func (v *verdict) handle(e client.Event) error {
	switch e.Type {
	case schemas.EventError:
		return decoded(e, func(s schemas.StreamError) error {
			v.failed = s.Err()
			return nil
		})
	case schemas.EventProvenance:
		return decoded(e, func(p schemas.Provenance) error {
			v.checked = true
			for _, f := range p.Figures {
				if f.Flagged && !slices.Contains(v.unsupported, f.Text) {
					v.unsupported = append(v.unsupported, f.Text)
				}
			}
			return nil
		})
	default:
		return nil
	}
}

// err returns why the answer failed, or nil.
func (v *verdict) err() error {
	switch {
	case v.failed != nil && v.reported:
		return output.Reported(v.failed)
	case v.failed != nil:
		return v.failed
	case v.strict && !v.checked:
		return errors.New("--strict: the server did not check the figures of the answer")
	case v.strict && len(v.unsupported) > 0:
		return errors.New("--strict: no tool result supports " + strings.Join(v.unsupported, ", "))
	default:
		return nil
	}
}

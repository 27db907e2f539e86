package knowledge

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"

	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/deploy/internal/records"
	"cairn/edge/client"
	"cairn/schemas"
)

// editOptions are the flags of cairn edit.
type editOptions struct {
	connection
	editor string
}

func editCommand() *cobra.Command {
	e := &editOptions{}
	cmd := &cobra.Command{
		Use:   "edit KIND ID|KIND/ID",
		Short: "Edit a record in an editor",
		Long: `Edit opens a record as YAML in an editor and registers the result. If the record is
rejected, the editor opens again with the reason. Nothing is written if the text is
unchanged or empty.

The record is only replaced if no one else has changed it in the meantime. Otherwise the
edited text is saved to a file, whose name is printed.`,
		Example:           "  cairn edit skill storage.volume_capacity\n  EDITOR='code --wait' cairn edit tool/netbox.vlans.list --tenant acme",
		Args:              flags.Args("KIND ID or KIND/ID", 1, 2),
		ValidArgsFunction: e.complete,
		RunE:              e.run,
	}
	e.flags(cmd, "`TENANT` of the record")
	connect.MessageFlag(cmd)
	cmd.Flags().StringVar(&e.editor, "editor", "", "editor `COMMAND`; empty: VISUAL or EDITOR, or vi")
	return cmd
}

// session is the state of an edit.
type session struct {
	base   client.Record // the record that the text was derived from
	text   []byte        // content of the file without the comment
	reason string        // why the editor opens again
}

func (e *editOptions) run(cmd *cobra.Command, args []string) error {
	key, err := e.exactKey(cmd, args)
	if err != nil {
		return err
	}
	base, err := e.Client.Get(cmd.Context(), key)
	if err != nil {
		return err
	}
	if err := permit(cmd.Context(), e.Client, key.TenantID); err != nil {
		return err
	}
	text, err := output.YAML(base.JSON)
	if err != nil {
		return err
	}
	s := &session{base: base, text: text}
	for {
		changed, err := e.open(s)
		switch {
		case err != nil && s.reason != "": // a text that was not registered
			return s.save(err)
		case err != nil:
			return err
		case !changed && s.reason != "":
			return s.save(errors.New(s.reason))
		case !changed:
			output.Line(cmd.OutOrStdout(), "nothing changed")
			return nil
		}
		stored, err := s.submit(cmd.Context(), e.Client)
		switch {
		case err == nil:
			output.Line(cmd.OutOrStdout(), fmt.Sprintf("edited %s, revision %d", name(key.Kind, key.ID), stored.Token.Revision))
			return nil
		case errors.Is(err, schemas.ErrPreconditionFailed):
			return s.save(fmt.Errorf("someone else has changed the record in the meantime; it was not replaced: %w", err))
		case !errors.Is(err, schemas.ErrInvalidRegistration):
			return s.save(err)
		}
		s.reason = output.OneLine(err)
	}
}

// save writes the text to a file and joins its name to err, which is printed after an
// interrupt, too.
func (s *session) save(err error) error {
	file, failed := os.CreateTemp("", "cairn-edit-*.yaml")
	if failed != nil {
		return errors.Join(err, failed)
	}
	_, failed = file.Write(s.text)
	if failed = errors.Join(failed, file.Close()); failed != nil {
		return errors.Join(err, failed)
	}
	return fmt.Errorf("%w; %w", err, errors.New("the edited text was saved to "+file.Name()))
}

// comment returns the lines above the record.
func (s *session) comment() string {
	list := []string{
		name(s.base.Kind, s.base.ID) + " " + scopeOf(s.base.Tenant) + fmt.Sprintf(", revision %d.", s.base.Token.Revision),
		"Lines that begin with # are ignored. An empty or unchanged file changes nothing.",
	}
	if s.reason != "" {
		list = append(list, "", "Not registered: "+s.reason)
	}
	return "# " + strings.Join(list, "\n# ") + "\n"
}

// open opens the text in the editor, and reports whether it was changed. It ignores interrupts,
// which the terminal also sends to the editor.
func (e *editOptions) open(s *session) (changed bool, err error) {
	file, err := os.CreateTemp("", "cairn-*.yaml") // with the permissions 0600
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.Remove(file.Name())) }()
	_, err = io.WriteString(file, output.Escaped(s.comment())+string(s.text))
	if err = errors.Join(err, file.Close()); err != nil {
		return false, err
	}
	words := strings.Fields(cmp.Or(strings.TrimSpace(e.editor), strings.TrimSpace(os.Getenv("VISUAL")),
		strings.TrimSpace(os.Getenv("EDITOR")), "vi"))
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	cmd := exec.Command(words[0], append(words[1:], file.Name())...) // #nosec G204 -- the editor of the user
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return false, fmt.Errorf("editor %s: %w", words[0], err)
	}
	text, err := os.ReadFile(file.Name())
	if err != nil {
		return false, err
	}
	edited := uncommented(text)
	if len(bytes.TrimSpace(edited)) == 0 || bytes.Equal(edited, s.text) {
		return false, nil
	}
	s.text = edited
	return true, nil
}

// uncommented removes the comment above the record.
func uncommented(text []byte) []byte {
	rest := string(text)
	for strings.HasPrefix(rest, "#") {
		_, rest, _ = strings.Cut(rest, "\n")
	}
	return []byte(rest)
}

// submit registers the text if the record is still the base of the edit. Interrupts cancel it, except for those
// during the edit.
func (s *session) submit(ctx context.Context, c *client.Client) (client.Stored, error) {
	if ctx.Err() != nil {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(context.WithoutCancel(ctx), os.Interrupt)
		defer stop()
	}
	parsed := records.Parse("record.yaml", s.text)
	if len(parsed) != 1 {
		return client.Stored{}, schemas.ErrInvalidRegistration.Because(fmt.Sprintf("expected one record, got %d",
			len(parsed)))
	}
	if parsed[0].Err != nil {
		return client.Stored{}, schemas.ErrInvalidRegistration.Because(output.OneLine(parsed[0].Err))
	}
	put := schemas.PutRecord{Kind: s.base.Kind, ID: s.base.ID, TenantID: schemas.Optional(s.base.Tenant),
		Record: parsed[0].Text}
	return c.Put(ctx, put, schemas.Precondition{IfMatch: s.base.ETag})
}

package knowledge

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"cairn/deploy/internal/output"
	"cairn/deploy/internal/records"
	"cairn/edge/client"
	"cairn/schemas"
)

// deletion deletes records together. Links between them do not prevent it.
type deletion struct {
	client *client.Client
	force  bool // also records to which others link
	dry    bool // permit does not ask
	keys   []schemas.RecordKey
	// planned are the records of a dry run, which have other links than the registered ones; nil: none.
	planned map[change]records.Record

	linked []bool // whether other records link to each record, as the user has permitted
}

// permit asks for the deletion of records to which records outside the deletion link. In a dry run, and without a
// terminal, it returns schemas.ErrRecordReferenced.
func (d *deletion) permit(cmd *cobra.Command) error {
	d.linked = make([]bool, len(d.keys))
	if d.force {
		return nil
	}
	deleted := map[change]bool{}
	for _, key := range d.keys {
		deleted[change{Kind: key.Kind, ID: key.ID, Tenant: schemas.ValueOr(key.TenantID, "")}] = true
	}
	outside, errs := make([]schemas.ReferrerSummary, len(d.keys)), make([]error, len(d.keys))
	records.Concurrently(len(d.keys), func(i int) {
		d.linked[i], outside[i], errs[i] = d.referrers(cmd.Context(), d.keys[i], deleted)
	})
	if err := errors.Join(errs...); err != nil {
		return err
	}
	var lines []string
	for i, key := range d.keys {
		if outside[i].Count > 0 {
			lines = append(lines, fmt.Sprintf("%s: %v", name(key.Kind, key.ID), outside[i]))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	if err := permit(cmd.Context(), d.client, d.keys[0].TenantID); err != nil {
		return err
	}
	asks := output.IsTerminal(cmd.InOrStdin()) && output.IsTerminal(cmd.ErrOrStderr())
	switch {
	case d.dry || !asks:
		return schemas.ErrRecordReferenced.Because(strings.Join(lines, "; ") + "; --force deletes nevertheless")
	case confirm(cmd, lines):
		return nil
	default:
		return schemas.ErrRecordReferenced.Because("nothing was deleted")
	}
}

// maxCompared is the number of referrers of a record that are compared with the deleted records; further ones count
// as outside of the deletion.
const maxCompared = 1000

// referrers reports whether other records link to the record, and returns those that are not deleted together with it;
// none to an absent record.
func (d *deletion) referrers(ctx context.Context, key schemas.RecordKey,
	deleted map[change]bool) (linked bool, outside schemas.ReferrerSummary, err error) {
	page, err := d.client.ReferrerPage(ctx, schemas.ReferrerQuery{Kind: key.Kind, ID: key.ID, TenantID: key.TenantID,
		Dangling: true, Limit: new(maxCompared)})
	outside.Count = page.Count
	for _, r := range page.Referrers {
		from := change{Kind: r.Kind, ID: r.ID, Tenant: r.TenantID}
		if deleted[from] || d.unlinks(from, key) {
			outside.Count--
		} else if len(outside.First) < schemas.MaxReferrers {
			outside.First = append(outside.First, r)
		}
	}
	if err == nil && outside.Count > 0 {
		key.Scope = schemas.ScopeOf(schemas.ValueOr(key.TenantID, ""))
		if _, err = d.client.Get(ctx, key); errors.Is(err, schemas.ErrRecordNotFound) {
			return false, schemas.ReferrerSummary{}, nil
		}
	}
	return page.Count > 0, outside, err
}

// unlinks reports whether the planned record that replaces a referrer has no link to the record.
func (d *deletion) unlinks(from change, key schemas.RecordKey) bool {
	record, planned := d.planned[from]
	links, _ := schemas.References(from.Kind, record.JSON) // a valid record
	return planned && !slices.ContainsFunc(links, func(to schemas.Reference) bool {
		return to.Kind == key.Kind && to.ID == key.ID
	})
}

// delete deletes the record with the index and returns the names of its aliases, or schemas.ErrRecordNotFound.
func (d *deletion) delete(ctx context.Context, i int) (aliases []string, err error) {
	key := d.keys[i]
	request := schemas.DeleteRecord{Unregister: schemas.Unregister{Kind: key.Kind, ID: key.ID, TenantID: key.TenantID},
		Force: d.force || d.linked[i]}
	aliases, err = d.client.Delete(ctx, request, schemas.Precondition{IfMatch: "*"})
	if errors.Is(err, schemas.ErrPreconditionFailed) {
		return nil, schemas.ErrRecordNotFound.Because(fmt.Sprintf("no %s %q %s", key.Kind, key.ID,
			scopeOf(schemas.ValueOr(key.TenantID, ""))))
	}
	return aliases, err
}

// confirm prints the lines and asks, and reports whether the answer is yes.
func confirm(cmd *cobra.Command, lines []string) bool {
	output.Lines(cmd.ErrOrStderr(), lines)
	_, _ = io.WriteString(cmd.ErrOrStderr(), "Delete nevertheless? [y/N] ") // a terminal
	answer, _ := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

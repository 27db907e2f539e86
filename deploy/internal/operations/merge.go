package operations

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"cairn/bus/backup"
	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/deploy/internal/records"
	"cairn/edge/client"
	"cairn/schemas"
)

// merging restores records of a backup into a running system over the HTTP API.
type merging struct {
	connect.HTTP
	wanted bool
	tenant string
	record string // KIND/ID; empty: all records of the tenant
	dry    bool
}

func (m *merging) flags(cmd *cobra.Command) {
	m.RetryTimeout = records.RetryTimeout
	m.HTTP.Flags(cmd)
	f := cmd.Flags()
	f.StringVar(&m.tenant, "tenant", "", "with --merge: `TENANT` of the records"+connect.ScopeUsage)
	f.BoolVar(&m.wanted, "merge", false, "restore records into a running system, over the HTTP API")
	f.StringVar(&m.record, "record", "", "with --merge: only the record `KIND/ID`")
	f.BoolVar(&m.dry, "dry-run", false, "with --merge: print what would change")
}

// saved is a record of a backup with its aliases.
type saved struct {
	kind, id string
	record   jsontext.Value // nil: deleted
	aliases  map[string]jsontext.Value
}

func (s *saved) name() string { return s.kind + "/" + s.id }

// run restores the records, and does not change those that are not in the backup.
func (m *merging) run(cmd *cobra.Command, checked backup.Checked) error {
	if err := m.SetScope(cmd.Context(), &m.tenant); err != nil {
		return err
	}
	list, err := m.collect(checked)
	if err != nil {
		return err
	}
	results, errs := make([][]string, len(list)), make([]error, len(list))
	records.Concurrently(len(list), func(i int) { results[i], errs[i] = m.restore(cmd.Context(), list[i]) })
	verb, unchanged, refused := "restored", 0, 0
	if m.dry {
		verb = "compared"
	}
	var first error
	for i, s := range list {
		output.Lines(cmd.OutOrStdout(), results[i])
		switch {
		case errs[i] != nil:
			refused++
			if first == nil {
				first = output.Reported(errs[i])
			}
			output.Line(cmd.ErrOrStderr(), "cairn: "+s.name()+": "+output.OneLine(errs[i]))
		case len(results[i]) == 0:
			unchanged++
		}
	}
	line := fmt.Sprintf("%s %d of %d records of %s, %d unchanged", verb, len(list)-refused, len(list),
		checked.Created.Format("2006-01-02 15:04:05 MST"), unchanged)
	if refused > 0 {
		line += fmt.Sprintf(", %d refused", refused)
	}
	output.Line(cmd.OutOrStdout(), line)
	return first
}

// collect returns the newest records of the backup that the flags select, ordered by name.
func (m *merging) collect(checked backup.Checked) ([]*saved, error) {
	all := map[string]*saved{} // by the key of the record
	err := checked.Catalog(func(key string, value []byte) {
		alias := ""
		if rest, ok := strings.CutPrefix(key, "alias."); ok { // alias.KIND.TENANT.NAME.ID
			tokens := strings.SplitN(rest, ".", 4)
			if len(tokens) < 4 {
				return
			}
			alias = tokens[2]
			key = strings.Join(slices.Delete(tokens, 2, 3), ".")
		}
		kind, _, _ := strings.Cut(key, ".")
		s := all[key]
		if s == nil {
			s = &saved{kind: kind, aliases: map[string]jsontext.Value{}}
		}
		switch {
		case alias == "":
			s.record = nil
			if id, tenant := identify(kind, value); id != "" && tenant == m.tenant {
				s.id, s.record = id, value
			}
		case value == nil:
			delete(s.aliases, alias)
		default:
			var stored struct {
				Record jsontext.Value `json:"record"`
			}
			_ = json.Unmarshal(value, &stored) // without a record, it has no id
			if id, tenant := identify(kind, stored.Record); id != "" && tenant == m.tenant {
				s.aliases[alias] = stored.Record
			}
		}
		if s.record != nil || len(s.aliases) > 0 {
			all[key] = s
		} else {
			delete(all, key)
		}
	})
	list := slices.DeleteFunc(slices.Collect(maps.Values(all)), func(s *saved) bool {
		return s.record == nil || m.record != "" && s.name() != m.record
	})
	slices.SortFunc(list, func(a, b *saved) int { return strings.Compare(a.name(), b.name()) })
	if err == nil && m.record != "" && len(list) == 0 {
		err = schemas.ErrRecordNotFound.Because(fmt.Sprintf("the backup has no record %s in the scope", m.record))
	}
	return list, err
}

// identify returns the id and the tenant of a record; an empty id if it has none.
func identify(kind string, record []byte) (id, tenant string) {
	var members map[string]jsontext.Value
	_ = json.Unmarshal(record, &members) // empty for a value that is no record
	_ = json.Unmarshal(members[kind+"_id"], &id)
	_ = json.Unmarshal(members["tenant_id"], &tenant)
	return id, tenant
}

// restore restores a record and its aliases, unless the record changes meanwhile, and returns the changes that were
// made, or in a dry run would be. A revision that only an alias has is registered before the record.
func (m *merging) restore(ctx context.Context, s *saved) (changes []string, err error) {
	key := records.ExactKey(s.kind, s.id, m.tenant)
	current, err := m.Client.Get(ctx, key)
	if err != nil && !errors.Is(err, schemas.ErrRecordNotFound) {
		return nil, err
	}
	change := ""
	if current.JSON == nil {
		change = "created " + s.name()
	} else if !bytes.Equal(current.JSON, s.record) {
		change = "replaced " + s.name()
	}
	for _, name := range slices.Sorted(maps.Keys(s.aliases)) {
		alias := key
		alias.ID += "@" + name
		stored, err := m.Client.Get(ctx, alias)
		if err != nil && !errors.Is(err, schemas.ErrRecordNotFound) {
			return changes, err
		}
		if bytes.Equal(stored.JSON, s.aliases[name]) {
			continue
		}
		to := schemas.AliasKey{Kind: s.kind, ID: s.id, Name: name, TenantID: key.TenantID}
		if err := m.promote(ctx, to, &current, s.aliases[name]); err != nil {
			return changes, err
		}
		changes = append(changes, "promoted "+s.name()+"@"+name)
	}
	if err := m.put(ctx, key, &current, s.record); err != nil || change == "" {
		return changes, err
	}
	return slices.Insert(changes, 0, change), nil
}

// promote registers the record unless it is the current one, and points the alias to it; in a dry run, it does nothing.
func (m *merging) promote(ctx context.Context, key schemas.AliasKey, current *client.Record,
	record jsontext.Value) error {
	target := schemas.RecordKey{Kind: key.Kind, ID: key.ID, TenantID: key.TenantID}
	if err := m.put(ctx, target, current, record); err != nil || m.dry {
		return err
	}
	_, err := m.Client.PutAlias(ctx,
		schemas.PutAlias{AliasKey: key, Target: schemas.AliasTarget{Revision: current.Token.String()}})
	return err
}

// put registers the record unless it is the current one, or in a dry run.
func (m *merging) put(ctx context.Context, key schemas.RecordKey, current *client.Record, record jsontext.Value) error {
	if m.dry || bytes.Equal(current.JSON, record) {
		return nil
	}
	condition := schemas.Precondition{IfMatch: current.ETag}
	if current.JSON == nil {
		condition = schemas.Precondition{IfNoneMatch: "*"}
	}
	put := schemas.PutRecord{Kind: key.Kind, ID: key.ID, TenantID: key.TenantID, Record: record}
	stored, err := m.Client.Put(ctx, put, condition)
	if err == nil {
		current.JSON, current.ETag, current.Token = record, stored.ETag, stored.Token
	}
	return err
}

// check returns an error for flags that need --merge, or a --record of another form.
func (m *merging) check(cmd *cobra.Command) error {
	if !m.wanted {
		if m.record != "" || m.dry {
			return flags.UsageError(cmd, errors.New("--record and --dry-run require --merge"))
		}
		return nil
	}
	if m.record == "" {
		return nil
	}
	kind, id, err := records.ParseName(m.record, schemas.Kinds())
	if err != nil {
		return fmt.Errorf("--record %w", err)
	}
	m.record = kind + "/" + id
	return nil
}

package services

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus"
	"cairn/bus/audit"
	"cairn/bus/bucket"
	"cairn/schemas"
	"cairn/services/internal/catalog"
)

// LostRecords returns the records of a loss of the catalog that AcceptLoss would restore.
func LostRecords(ctx context.Context, conn *bus.Conn) ([]string, error) {
	log, err := findCatalog(ctx, conn)
	if log == nil || err != nil {
		return nil, err
	}
	list, err := log.Lost(ctx)
	return names(list), err
}

// AcceptLoss accepts the losses of all buckets, so that their health is no longer degraded. It restores the records
// of the catalog that its history has, and returns them; the audit log has each. keyConn is the connection of the user
// of the API keys.
func AcceptLoss(ctx context.Context, conn, keyConn *bus.Conn) (restored []string, err error) {
	for _, row := range []struct {
		js   jetstream.JetStream
		name string
	}{{conn.JetStream(), bucket.Tags}, {conn.JetStream(), bucket.Quarantine}, {keyConn.JetStream(), bucket.Keys}} {
		s, err := row.js.Stream(ctx, bucket.StreamPrefix+row.name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			continue
		}
		if err == nil {
			err = bucket.AcceptLoss(ctx, row.js, s)
		}
		if err != nil {
			return nil, fmt.Errorf("accept the loss of bucket %s: %w", row.name, err)
		}
	}
	log, err := findCatalog(ctx, conn)
	if log == nil || err != nil {
		return nil, err
	}
	list, err := log.AcceptLoss(ctx)
	for _, r := range list {
		e := schemas.AuditEntry{Action: schemas.ActionRestore, Kind: r.Key.Kind, ID: r.Key.ID, Alias: r.Key.Alias,
			TenantID: r.Key.Tenant, Origin: bus.OriginOf(ctx, conn)}
		e.Revision = schemas.ConsistencyToken{Catalog: log.ID(), Revision: r.Revision}.String()
		err = cmp.Or(err, audit.Add(ctx, conn.JetStream(), e))
	}
	return names(list), err
}

// findCatalog opens the catalog, or returns nil if the account of conn has none.
func findCatalog(ctx context.Context, conn *bus.Conn) (*catalog.Catalog, error) {
	if _, err := conn.JetStream().Stream(ctx, catalog.Stream); errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	return catalog.Open(ctx, conn.JetStream())
}

func names(list []catalog.Lost) (names []string) {
	for _, lost := range list {
		names = append(names, lost.String())
	}
	return names
}

package main

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"cairn/bus"
	"cairn/edge"
	"cairn/services"
)

// together sets up the streams and runs the services and the edge, until ctx ends. The edge begins once
// all services serve, or at once where a cluster may have to be waited for:
// found returns when it can be worked with; nil: there is none. The edge ends
// first, so that what it has taken is still answered. One drain deadline, which
// starts when either of them stops, applies to both.
func together(ctx context.Context, conn *bus.Conn, c services.Config, e edge.Config, found func(context.Context) error, ready func()) error {
	serving, leave := context.WithCancel(ctx)
	defer leave()
	working, rest := context.WithCancel(context.WithoutCancel(ctx))
	defer rest()
	var cut func()
	c.Cutoff, cut = context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	defer context.AfterFunc(serving, func() { time.AfterFunc(c.Drain, func() { cut(); rest() }) })()
	var g errgroup.Group
	up := make(chan struct{})
	g.Go(func() error {
		defer leave()
		if found != nil {
			if err := found(working); err != nil {
				return unlessEnded(working, err)
			}
		}
		if err := services.Setup(working, conn, conn, c); err != nil {
			return unlessEnded(working, err)
		}
		return services.Run(working, conn, c, func() { close(up) })
	})
	g.Go(func() error {
		defer rest()
		if found != nil {
			return edge.Serve(serving, e)
		}
		select {
		case <-serving.Done():
			return nil
		case <-up:
			return edge.Serve(serving, e)
		}
	})
	g.Go(func() error {
		select {
		case <-serving.Done():
		case <-up:
			ready()
		}
		return nil
	})
	return g.Wait()
}

// unlessEnded is err, unless ctx has ended.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

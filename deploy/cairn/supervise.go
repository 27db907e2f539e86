package main

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"cairn/bus"
	"cairn/edge"
	"cairn/services"
)

// supervise sets up the streams and runs the services and the edge until ctx ends.
// In a cluster, found blocks until the bootstrap is complete, and the edge starts
// at once; otherwise found is nil and the edge starts when all services are ready.
// The edge stops first, so that its requests in flight complete. One drain deadline,
// which starts when either of them stops, applies to both.
func supervise(ctx context.Context, conn *bus.Conn, c services.Config, e edge.Config, found func(context.Context) error, ready func()) error {
	serving, stopServing := context.WithCancel(ctx)
	defer stopServing()
	working, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	var cut func()
	c.Cutoff, cut = context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	defer context.AfterFunc(serving, func() { time.AfterFunc(c.Drain, func() { cut(); stopWork() }) })()
	var g errgroup.Group
	up := make(chan struct{})
	g.Go(func() error {
		defer stopServing()
		if found != nil {
			if err := found(working); err != nil {
				return ignoreCanceled(working, err)
			}
		}
		if err := services.Setup(working, conn, conn, c); err != nil {
			return ignoreCanceled(working, err)
		}
		return services.Run(working, conn, c, func() { close(up) })
	})
	g.Go(func() error {
		defer stopWork()
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

// ignoreCanceled returns err, or nil if ctx has ended.
func ignoreCanceled(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

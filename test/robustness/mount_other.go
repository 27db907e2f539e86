//go:build !linux

package main

import "errors"

func mount(string, int64) error { return errors.ErrUnsupported }
func unmount(string) error      { return nil }
func cutPower(string) error     { return errors.ErrUnsupported }

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestDraw(t *testing.T) {
	var b strings.Builder
	draw(&b, "A fleet", []sighting{{0, 0, true}, {500 * time.Millisecond, 1, false}, {time.Second, 1, true}, {10 * time.Second, 7, true}}, true)
	text := b.String()
	assert.Contains(t, text, "  0s                           #x\n")
	assert.Contains(t, text, " 10s  Redis is killed          #\n")
	assert.Contains(t, text, "served 3 of 400, refused 1; served to each process: [1 1 0 0 0 0 0 1]\n")
}

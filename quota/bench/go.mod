module github.com/headway-go/headway/quota/bench

go 1.25.0

require (
	github.com/headway-go/headway v0.0.0
	golang.org/x/sync v0.19.0
	golang.org/x/time v0.15.0
)

replace github.com/headway-go/headway => ../..

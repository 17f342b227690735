module github.com/headway-go/headway/examples/cache

go 1.25.0

require (
	github.com/gohugoio/httpcache v0.7.0
	github.com/headway-go/headway v0.0.0
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/dunglas/httpsfv v1.1.2 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/time v0.15.0 // indirect
)

replace github.com/headway-go/headway => ../..

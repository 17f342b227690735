module github.com/headway-go/headway/examples/fleet

go 1.25.0

require (
	github.com/headway-go/headway v0.0.0
	github.com/headway-go/headway/quota/fleet/redisstore v0.0.0
	github.com/redis/go-redis/v9 v9.22.0
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/dunglas/httpsfv v1.1.2 // indirect
	go.uber.org/atomic v1.11.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sys v0.30.0 // indirect
	golang.org/x/time v0.15.0 // indirect
)

replace (
	github.com/headway-go/headway => ../..
	github.com/headway-go/headway/quota/fleet/redisstore => ../../quota/fleet/redisstore
)

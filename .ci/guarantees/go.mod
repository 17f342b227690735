module github.com/headway-go/headway/.ci/guarantees

go 1.25.0

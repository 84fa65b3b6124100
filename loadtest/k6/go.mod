// Not a program of ours: it pins the k6 that `make k6` builds.
module quicklink/k6

go 1.26

require go.k6.io/k6/v2 v2.2.0

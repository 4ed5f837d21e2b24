module netaminity/bench

go 1.25

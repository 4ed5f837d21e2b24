module netaminity/tools/pause

go 1.26

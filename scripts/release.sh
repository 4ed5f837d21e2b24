#!/usr/bin/env bash
# Prepares a release: writes the version everywhere, generates, checks, tests, validates the chart, commits, and makes the
# annotated tag vVERSION. The tag, once pushed, starts the release workflow.
#
#   scripts/release.sh [--push] VERSION
#   scripts/release.sh --assets FOLDER
#
#   --push    push the commit and the tag to origin as well
#   --assets  only make what is downloaded, from the work tree as it is: an archive for each machine, checksums, and the
#             manifests for krew and Homebrew
#
# RELEASE_REHEARSAL=1 leaves generation, checks, tests and chart validation out, to see in a throw-away clone what the rest
# does. It is refused together with --push. A rehearsed tag that is pushed by hand publishes nothing unchecked: the release
# workflow runs the same checks and tests before it publishes.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"

fail() {
	echo "release: $1" >&2
	exit 2
}

if [ "${1:-}" = --assets ]; then
	[ $# = 2 ] || fail "usage: scripts/release.sh --assets FOLDER"
	[ -x node_modules/.bin/bun ] || scripts/setup
	exec node_modules/.bin/bun scripts/release-assets.ts "$2"
fi

push=false
version=
for argument in "$@"; do
	case $argument in
	--push) push=true ;;
	-h | --help)
		sed -n '2,/^set /s/^# \{0,1\}//p' "$0"
		exit 0
		;;
	-*) fail "unknown option $argument; accepted: --push" ;;
	*)
		[ -z "$version" ] || fail "one version is accepted, got $version and $argument"
		version=$argument
		;;
	esac
done
[ -n "$version" ] || fail "usage: scripts/release.sh [--push] VERSION"
rehearsal=${RELEASE_REHEARSAL:-0}
case $rehearsal in
0 | 1) ;;
*) fail "RELEASE_REHEARSAL=$rehearsal is not 0 or 1" ;;
esac
[ "$rehearsal" = 0 ] || [ "$push" = false ] || fail "RELEASE_REHEARSAL=1 cannot be pushed"

number='(0|[1-9][0-9]*)'
[[ $version =~ ^$number\.$number\.$number(-[0-9A-Za-z.-]+)?$ ]] ||
	fail "version \"$version\" is not of the form MAJOR.MINOR.PATCH or MAJOR.MINOR.PATCH-PRERELEASE (no leading v)"
tag=v$version
[ "$(git rev-parse --show-toplevel)" = "$root" ] || fail "$root is not the top of a git repository"
[ -z "$(git status --porcelain)" ] || fail "the work tree has changes; commit or remove them first: $(git status --porcelain | head -n 3 | tr '\n' ' ')"
! git rev-parse -q --verify "refs/tags/$tag" >/dev/null || fail "tag $tag exists"
if [ "$push" = true ]; then
	branch=$(git symbolic-ref -q --short HEAD) || fail "HEAD is on no branch, so there is nothing to push to"
	[ -z "$(git ls-remote --tags origin "refs/tags/$tag")" ] || fail "tag $tag exists on origin"
fi

[ -x node_modules/.bin/bun ] || scripts/setup
bun=$root/node_modules/.bin/bun

# Until the commit is made, a failure puts every tracked file back: the tree was clean, so nothing of anyone is lost.
restore() {
	local code=$?
	[ "$code" != 0 ] || return 0
	git restore --staged --worktree .
	echo "release: failed; every tracked file is as before" >&2
}
trap restore EXIT
"$bun" scripts/release-versions.ts set "$version"
if [ "$rehearsal" = 0 ]; then
	"$bun" run generate
	"$bun" run check
	scripts/test
	scripts/helm lint --strict chart
	scripts/helm template netaminity chart --namespace netaminity-system >/dev/null
fi
scripts/verify-tag "$tag"

# Generated files that are new belong to the release as well.
git add --all
if git diff --cached --quiet; then
	echo "release: every file has version $version already; the tag goes on the last commit"
else
	git commit -q -m "Release $version"
fi
trap - EXIT
git tag --annotate -m "netaminity $version" "$tag"
echo "release: $tag is at $(git rev-parse --short HEAD)"

if [ "$push" = true ]; then
	# Both or none.
	git push --atomic origin "HEAD:refs/heads/$branch" "refs/tags/$tag"
else
	echo "release: publish it with: git push --atomic origin HEAD $tag"
fi

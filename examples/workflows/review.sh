#!/usr/bin/env bash
# Have commands review what HEAD changes, on any CI: exit 0 if every reviewer approves, and for no other reason.
#
#   git fetch origin main
#   git show refs/remotes/origin/main:tools/verdict/review.sh >/tmp/review.sh
#   bash /tmp/review.sh refs/remotes/origin/main HEAD [OPTION ...] REVIEWER [REVIEWER ...]
#
# Run it in the repository. BASE is the tip of the branch to merge into, as fetched just now: the gate's code is taken
# from there, and so must this file be. What HEAD brings along is read as data. A REVIEWER is a shell command, and an
# OPTION one of review_gate.py, such as --summary FILE.
#
# An approval is of one BASE and one HEAD: let CI merge only what is up to date with its base, or use a merge queue.
#
# Exit status: that of review_gate.py; 1 or that of change_diff.py where there is no diff to review, as in a shallow
# clone or where there are several merge bases; 2 for wrong arguments.
set -euo pipefail
export GIT_NO_REPLACE_OBJECTS=1 GIT_GRAFT_FILE=/dev/null/none # what stands in for an object here is not what lands

readonly folder=tools/verdict # on BASE: change_diff.py, review_gate.py, and what they load

stop() { # STATUS MESSAGE
    printf 'review.sh: %s\n' "$2" >&2
    exit "$1"
}

outside() { # prints PATH without its folders in this work tree (others are not looked for): an environment there brings its python3
    local top=$PWD kept="" entry
    while [ -n "$top" ] && [ ! -e "$top/.git" ]; do top=${top%/*}; done
    while IFS= read -r -d : entry; do
        entry=$(cd -P -- "$entry" 2>/dev/null && pwd) || continue
        case $entry/ in "${top:-/dev/null}"/*) ;; *) kept=$kept:$entry ;; esac
    done <<<"$PATH:"
    printf '%s' "${kept#:}"
}

commit() { # NAME: prints the id. Of a branch and a tag of one name git takes the tag, and only warns
    local id
    id=$(git -c core.warnAmbiguousRefs=true rev-parse --verify "$1^{commit}" 2>&1) || id=
    [[ $id =~ ^[0-9a-f]{40,64}$ ]] || stop 1 "BASE and HEAD have to be commits, each by a name that only it has"
    printf '%s' "$id"
}

[ "$#" -ge 3 ] || stop 2 "usage: bash review.sh BASE HEAD [OPTION ...] REVIEWER [REVIEWER ...]"
unset CDPATH
cd -P .
PATH=$(outside)
base=$(commit "$1")
head=$(commit "$2")
shift 2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# From within the folder of git: in a work tree of the change, its .gitattributes would be read. What git warns of, in
# words of the change, is for no log.
cd "$(git rev-parse --absolute-git-dir)"
git archive --format=tar "$base" "$folder" 2>/dev/null | tar -x -f - -C "$work" 2>/dev/null ||
    stop 1 "BASE has no $folder"
python3 -I -S "$work/$folder/change_diff.py" "$base" "$head" -o "$work/change.diff" || exit

# In the background: a shell that waits for a foreground command acts on no signal, and CI cancels by one.
python3 -I -S "$work/$folder/review_gate.py" --diff "$work/change.diff" "$@" &
trap 'kill -TERM "$!"' HUP INT TERM
while :; do
    status=0
    wait "$!" || status=$?
    kill -0 "$!" 2>/dev/null || exit "$status" # else a signal has ended the wait, and not yet the gate
done

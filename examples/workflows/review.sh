#!/usr/bin/env bash
# Have commands review what HEAD changes, on any CI: exit 0 if every reviewer approves, and for no other reason.
#
#   git fetch origin main
#   git show origin/main:tools/verdict/review.sh >/tmp/review.sh
#   bash /tmp/review.sh origin/main HEAD REVIEWER [REVIEWER ...]
#
# Run it in the repository. BASE is the tip of the branch to merge into, as fetched just now: the gate's code is taken
# from there, and so must this file be. What HEAD brings along is read as data. A REVIEWER is a shell command, see
# review_gate.py.
#
# Exit status: that of review_gate.py, or 1 where git cannot tell what HEAD changes, and 2 for wrong arguments.
set -euo pipefail

readonly folder=tools/verdict # on BASE: review_gate.py, final_message.py, reviewer_process.py, verdict_contract.py

stop() { # STATUS MESSAGE
    printf 'review.sh: %s\n' "$2" >&2
    exit "$1"
}

commit() { # prints the id of a commit
    git rev-parse --verify --quiet "$1^{commit}" || stop 1 "BASE and HEAD have to be commits"
}

[ "$#" -ge 3 ] || stop 2 "usage: bash review.sh BASE HEAD REVIEWER [REVIEWER ...]"
base=$(commit "$1")
head=$(commit "$2")
shift 2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# From within the folder of git: in a work tree of the change, its .gitattributes and .gitmodules would be read.
cd "$(git rev-parse --absolute-git-dir)"
git archive --format=tar "$base" "$folder" | tar -x -f - -C "$work" || stop 1 "BASE has no $folder"

# With several merge bases git compares with one of them, and what differs from the others stays unseen.
[ "$(git merge-base --all "$base" "$head" | wc -l)" -eq 1 ] ||
    stop 1 "BASE and HEAD have no merge base, or several: rebase HEAD"
git diff --text --no-textconv --no-ext-diff --no-color --full-index --ignore-submodules=none "$base...$head" \
    >"$work/change.diff" || stop 1 "git cannot write the diff"

# In the background: a shell that waits for a foreground command acts on no signal, and CI cancels by one.
python3 "$work/$folder/review_gate.py" --diff "$work/change.diff" -- "$@" &
trap 'kill -TERM "$!"' HUP INT TERM
while :; do
    status=0
    wait "$!" || status=$?
    kill -0 "$!" 2>/dev/null || exit "$status" # else a signal has ended the wait, and not yet the gate
done

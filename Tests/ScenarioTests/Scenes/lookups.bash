# Words for the scenes about look-ups while everything changes: who has been asked for the names of a domain, and what was answered.
# shellcheck shell=bash disable=SC2154

# The names STAGE-NUMBER.DOMAIN that the name servers of these places were asked, of stages that match: `seen_names STAGES DOMAIN PLACE …`.
seen_names() {
  local stages=$1 domain=$2 place
  shift 2
  for place; do grep -ohiP "query\[A\] \K($stages)-[0-9]+\.${domain//./\\.}(?= )" "$scene/names-$place" || true; done | tr '[:upper:]' '[:lower:]' | sort -u
}

# Those that programs themselves have asked at a server other than ours: a file of another writer named it when they read it.
asked_themselves() { awk '$8 != "127.82.0.53" { print tolower($2) }' "$scene/lookups" | sort -u; }

# Without those that programs have asked there themselves, where $by_file is set.
without_their_own() { if [[ -n ${by_file:-} ]]; then comm -23 - <(asked_themselves); else cat; fi; }

# judge DOMAIN STAGES ANSWERS PLACE …: of the names of this domain in stages that match,
#   asked      how many there were
#   unplanned  how many have another answer; with $by_file, of our own name server
#   elsewhere  how many were seen at these places
#   late       how many were answered after more than five seconds, or not. What no server could answer (`outages`) counts from when
#              one could.
# Before that line some of the names that are wrong.
judge() {
  local domain=$1 stages=$2 answers=$3 elsewhere
  shift 3
  elsewhere=$(seen_names "$stages" "$domain" "$@" | without_their_own)
  [[ -z $elsewhere ]] || for name in $(head -n 5 <<<"$elsewhere"); do
    grep -i "query\[A\] $name " "$scene"/names-*
    grep -i " $name " "$scene/lookups"
  done
  awk -v outages="$scene/outages" -v domain="$domain" -v name="^($stages)-[0-9]+[.]${domain//./[.]}\$" -v answers="^($answers)\$" \
    -v by_file="${by_file:-}" -v elsewhere="$(grep -c . <<<"$elsewhere")" '
    FILENAME == outages { from[NR] = $1; to[NR] = $2; n = NR; next }
    tolower($2) !~ name { next }
    { asked++ }
    $4 == "-" { late++; print; next }
    $7 !~ answers && (!by_file || $6 == "127.82.0.53") { unplanned++; if (unplanned < 6) print }
    { begun = $3; for (i = 1; i <= n; i++) if (begun < to[i] && $4 > from[i]) begun = to[i]
      wait = $4 - begun; if (wait > longest) longest = wait; if (wait > 5) { late++; print } }
    END { printf "%s asked=%d unplanned=%d elsewhere=%d late=%d longest=%d ms\n", domain, asked, unplanned, elsewhere, late, longest * 1000 }
    ' "$scene/outages" "$scene/lookups"
}

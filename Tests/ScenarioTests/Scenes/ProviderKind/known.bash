# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

root=$tests/../../..
install -d -m 0755 providers
for manifest in "$root"/packaging/providers/*.yaml; do
  program=$(sed -n 's|^program: .*/||p' "$manifest")
  printf '#!/bin/sh\n' >"providers/$program"
  chmod 0755 "providers/$program"
  sed -e "s|^program: .*|program: $scene/providers/$program|" -e 's|^user: .*|user: nobody|' "$manifest" >"providers/${manifest##*/}"
  chmod 0644 "providers/${manifest##*/}"
  sed -i "s|name: ${manifest##*/}|name: $scene/providers/${manifest##*/}|" "$policies/all.yaml"
done
touch "$policies/secret"
chmod 600 "$policies/secret"
{
  jq -r '.. | objects | select(has("properties")) | .properties | select(has("wireguard") and has("command")) | keys[]' \
    "$root/docs/policy.schema.json" | sort -u | grep -vx installed
  sed -n 's/^name: //p' "$root"/packaging/providers/*.yaml
} | sort >kinds
go cafe
own=(--policies "$policies/all.yaml" --state-dir "$scene/state")
for kind in $(<kinds); do
  "$bin/roamward" explain "$kind" "${own[@]}" "${inputs[@]}" | sed -n 2p >"explain-$kind"
  "$bin/roamward" explain "$kind" --json "${own[@]}" "${inputs[@]}" | jq -c .provider >"explain-$kind.json"
done
"$bin/roamward" plan "${own[@]}" "${inputs[@]}" >plan
"$bin/roamward" plan --json "${own[@]}" "${inputs[@]}" | jq -r '.actions[] | "\(.tunnel) \(.start)"' >plan.json
# shellcheck disable=SC2238
"$bin/roamward" diff "${own[@]}" "${inputs[@]}" >diff || true
"$bin/roamward" doctor "${own[@]}" "${inputs[@]}" >doctor || true
cat >timeline.yaml <<END
version: 1
start: mon 08:00
steps:
  - { at: 0s, network: $root/examples/networks/cafe.yaml }
  - { at: 30s, expect: { $(sed 's/$/: connected/' kinds | paste -sd , | sed 's/,/, /g') } }
  - { at: 60s, network: none }
END
"$bin/roamward" simulate --policies "$policies/all.yaml" timeline.yaml >simulate
"$bin/roamward" state --state-dir "$scene/state" >state-listing
"$bin/roamward" cleanup --state-dir "$scene/state" >cleanup

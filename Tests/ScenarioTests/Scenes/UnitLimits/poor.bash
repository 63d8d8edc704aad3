# shellcheck shell=bash disable=SC2154,SC2034

# From the unit itself: CAP_NET_ADMIN -> +net_admin.
# shellcheck disable=SC2018,SC2019
caps=$(sed -n 's/^CapabilityBoundingSet=//p' "$tests/../../../packaging/systemd/roamwardd.service" | tr 'A-Z' 'a-z' | sed 's/cap_/+/g; s/ /,/g')
mkdir "$scene/poor"
printf '#!/bin/sh\nexec setpriv --bounding-set=-all,%s --inh-caps=-all "%s/roamwardd" "$@"\n' "$caps" "$bin" >"$scene/poor/roamwardd"
chmod +x "$scene/poor/roamwardd"
for program in "$bin"/roamward*; do
  [[ ! -f $program || ! -x $program || $program == */roamwardd ]] || ln -s "$program" "$scene/poor/"
done
bin=$scene/poor

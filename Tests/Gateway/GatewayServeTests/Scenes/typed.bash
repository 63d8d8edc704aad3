# shellcheck shell=bash
# The lines that a newcomer types, from nothing to a connected laptop, as the document has them (docs/how-to/gateway-client.md).

# The section of the document, up to the first link.
section_of_first_steps() { sed -n '/^## From nothing/,/^A link/p' "$1"; } # DOCUMENT

# Commands, and answers to questions, of the section on standard input.
count_typed() { # gateway|laptop
  sed -n "/^On the $1/,/^On the \\|^The pin/p" | grep -cE '^# |\[yes/no\] yes$|^Answer \(not shown\):$|^password of '
}

# What is promised: 8 lines at the gateway, 5 on the laptop.
is_as_short_as_promised() { # DOCUMENT
  at_gateway=$(section_of_first_steps "$1" | count_typed gateway) at_laptop=$(section_of_first_steps "$1" | count_typed laptop)
  ((at_gateway > 0 && at_gateway <= 8 && at_laptop > 0 && at_laptop <= 5)) ||
    { echo "$at_gateway lines are typed at the gateway, $at_laptop on the laptop" >&2 && return 1; }
}

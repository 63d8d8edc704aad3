# shellcheck shell=bash disable=SC2154,SC2034

take_over() { cp new.yaml "$policies"/new && mv "$policies"/new "$policies"/corp.yaml; }

# The folders of an installed agent, for this scene alone: local/ is /etc/roamward/policies, and policies/ a lower layer.
# shellcheck shell=bash disable=SC2154,SC2034

mkdir etc && mount -t tmpfs -o mode=755 tmpfs etc
cp -a /etc/. etc
mount --bind etc /etc
mkdir -p /etc/roamward/policies /run/roamward/policies
mount --bind local /etc/roamward/policies
mount --bind policies /run/roamward/policies

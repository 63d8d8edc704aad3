# The folders of an installed agent, for this scene alone: local/ is /etc/roamward/policies, and policies/ a lower layer.
# shellcheck shell=bash disable=SC2154,SC2034

# By paths from the root: the working folder is that of another mount namespace.
mkdir "$scene/etc" && mount -t tmpfs -o mode=755 tmpfs "$scene/etc"
cp -a /etc/. "$scene/etc"
mount --bind "$scene/etc" /etc
mkdir -p /etc/roamward/policies /run/roamward/policies
mount --bind local /etc/roamward/policies
mount --bind policies /run/roamward/policies

# Words for scenes with options of one start: a provider that writes down what it gets.
# shellcheck shell=bash disable=SC2154

# As plain-udp, with an option `username`; its user name, address and password go to the file `given`.
install_noting() {
  sed -i 's|^      description: Destinations that go into the tunnel.|&\n    username: { type: string, description: The user name. }|' \
    "$scene/providers/plain-udp.yaml"
  touch "$scene/given"
  chmod 0666 "$scene/given"
  python3 - "$scene" <<'END'
import sys
path = sys.argv[1] + "/providers/plain-udp"
text = open(path).read()
text = text.replace("        os.close(descriptor)\n", "        self.password = os.read(descriptor, 4096).decode()\n        os.close(descriptor)\n", 1)
line = f'        open("{sys.argv[1]}/given", "a").write(f"{{self.options.get(\'username\', \'-\')}} {{self.options[\'address\']}} '
line += '{getattr(self, \'password\', \'\')}\\n")\n        self.password = ""\n'
text = text.replace('        self.options = message["options"]\n', '        self.options = message["options"]\n' + line, 1)
open(path, "w").write(text)
END
}

# The group `roamward`, in the lab's own /etc/group.
with_group() {
  cp /etc/group "$scene/group"
  sed -i '/^roamward:/d' "$scene/group"
  echo 'roamward:x:4711:' >>"$scene/group"
  mount --bind "$scene/group" /etc/group
}

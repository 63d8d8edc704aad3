import Testing

/// The other writers of resolv.conf, and the kinds of file that it is. However the agent ends, the file finally has, to the byte, the
/// content that another program wrote last.
@Suite("resolv.conf", .needsLab)
struct ResolverFileTests {
  private static let words = """
    file=$laptop/resolv.conf
    ours() { grep -q '^nameserver 10.77.0.1' "$file"; }
    look_at_file() { stat -c '%F %a %u:%g' "$file"; readlink "$file" || cat "$file"; }
    remember_file() { look_at_file >was; }
    file_as_before() { look_at_file >is; diff was is; }
    # Writes it again and again, as `write_once NUMBER` does, until `peace`.
    war() { rm -f peace; ( for ((i = 0; ; i++)); do sleep 0.02; [[ ! -e peace ]] || exit 0; write_once $i; done ) & war=$!; }
    # Not by a signal, which would leave the last write to happen later.
    peace() { touch peace; wait $war; }
    go cafe

    """

  @Test(
    "written anew fifty times a second is set again ever more seldom, and that is told; what was written last stays, also after SIGKILL")
  func rewritten() throws {
    let seen = try Scene().run(
      Self.words + """
        write_once() { echo "nameserver 198.51.100.$(($1 % 200))" >$laptop/new.conf; chmod 640 $laptop/new.conf; mv $laptop/new.conf $file; }
        for end in stop_agent 'kill_agent; cleanup_agent'; do
          go nothing; go cafe; start_agent; tunnel_is corp connected; within 5 ours
          steps=$(counter steps)
          war; sleep 5; steps=$(($(counter steps) - steps))
          within 5 eval 'roamward status | found "name servers have been taken away"'; peace
          # Stopped, so that what is remembered is theirs, and not already ours again.
          kill -STOP $(agent_pid); write_once 7; remember_file; kill -CONT $(agent_pid)
          say "taken away, $((steps >= 1 && steps <= 5))"
          within 30 ours
          eval "$end" >/dev/null
          file_as_before && say theirs
        done
        """, limit: 200)
    #expect(seen.lines == Array(repeating: ["[taken away, 1]", "[theirs]"], count: 2).flatMap { $0 })
  }

  @Test("that is a link every other time ends as the link that somebody has made, and what it leads to is as it was")
  func linked() throws {
    let seen = try Scene().run(
      Self.words + """
        write_once() {
          if (($1 % 2)); then ln -sfn target $laptop/new.link; mv -T $laptop/new.link $file
          else echo 'nameserver 198.51.100.9' >$laptop/new.conf; mv -T $laptop/new.conf $file; fi
        }
        echo 'nameserver 192.0.2.99' >$laptop/target
        start_agent; tunnel_is corp connected; within 5 ours
        war; sleep 4; peace
        # In one step: between two, the agent could put a file there.
        ln -sfn target $laptop/new.link; mv -T $laptop/new.link $file; remember_file
        within 10 eval "roamward status | grep 'name servers are not applied: .* is a symbolic link to target'" >/dev/null && say told
        file_as_before && say "a link"
        field corp state
        kill_agent; start_agent; tunnel_is corp connected; stop_agent >/dev/null
        file_as_before && cat $laptop/target
        ls -I policies -I history $scene/state
        """, limit: 120)
    #expect(seen.lines == ["[told]", "[a link]", "connected", "nameserver 192.0.2.99", "lock"])
  }

  @Test(
    "in a folder that cannot be written is left alone and told of, and written when it can be; what cannot be put back is told, and put back later"
  )
  func readOnly() throws {
    let seen = try Scene().run(
      Self.words + """
        remember_file
        mount --bind $laptop $laptop; mount -o remount,bind,ro $laptop
        start_agent; tunnel_is corp connected
        roamward status | grep -o 'name servers are not applied: .*Read-only file system' | cut -d : -f 1
        file_as_before && say untouched
        mount -o remount,bind,rw $laptop
        within 15 ours && say 'noticed by itself'
        mount -o remount,bind,ro $laptop
        stop_agent
        ours && (($(count_in_log 'are not restored: .*Read-only file system') >= 1)) && say 'told'
        mount -o remount,bind,rw $laptop
        cleanup_agent; file_as_before && say theirs
        umount $laptop
        """, limit: 120)
    #expect(seen.lines == ["name servers are not applied", "[untouched]", "[noticed by itself]", "0", "[told]", "[theirs]"])
  }

  @Test("on a disk that is full, or with notes on one, is written when there is room, and given back where there is none")
  func noRoom() throws {
    let seen = try Scene().run(
      Self.words + """
        fill() { dd if=/dev/zero of=$1/fill bs=4k 2>/dev/null || true; }
        cp -a $laptop saved; mount -t tmpfs -o size=32k,mode=755 tmpfs $laptop; cp -a saved/. $laptop/
        mount -t tmpfs -o size=16k,mode=755 tmpfs $scene/state
        remember_file
        for full in $laptop $scene/state; do
          fill $full
          start_agent; tunnel_is corp connected
          roamward status | grep -o 'name servers are not applied: .*No space left on device'
          file_as_before && say untouched
          rm $full/fill
          within 30 ours && say ours
          fill $full
          stop_agent
          file_as_before && say theirs
          rm $full/fill
        done
        ls -I policies -I history $scene/state
        umount $laptop $scene/state
        """, limit: 150)
    let once = ["name servers are not applied: write: No space left on device", "[untouched]", "[ours]", "0", "[theirs]"]
    #expect(seen.lines == once + once + ["lock"])
  }

  @Test(
    "comes back after SIGKILL and a start of the machine, before anything asks for a name: the file, a bind mount, or what the next network has written",
    arguments: ["", "mount --bind $file $file"], ["start_agent", "go home; start_agent", "cleanup_agent"])
  func restarted(_ mount: String, _ start: String) throws {
    let seen = try Scene().run(
      Self.words + """
        \(mount)
        remember_file
        start_agent; tunnel_is corp connected; within 5 ours && say ours
        kill_agent
        # What does not outlive a start of the machine: all of the kernel's, and of /run all but the lab itself.
        [[ -z $(engine_pid corp) ]] || kill -KILL "$(engine_pid corp)"
        ip link del corp 2>/dev/null || true
        ip rule flush protocol 82; ip route flush table 21000; nft flush ruleset
        rm -rf /run/wireguard "$ROAMWARD_SOCKET"
        ours && say 'still ours'
        rm $policies/corp.yaml
        # A bind mount cannot be replaced as the lab's DHCP client does.
        \(mount.isEmpty ? start : start.replacing("go home; ", with: ""))
        \(mount.isEmpty && start.hasPrefix("go home") ? "go home; remember_file" : "")
        within 10 file_as_before && say theirs
        ls -I policies -I history $scene/state
        """, limit: 120)
    #expect(Array(seen.lines.prefix(3)) == ["[ours]", "[still ours]", "[theirs]"])
    #expect(!seen.contains("resolv.conf"))
  }
}

extension String {
  fileprivate func replacing(_ part: String, with other: String) -> String {
    hasPrefix(part) ? other + dropFirst(part.count) : self
  }
}

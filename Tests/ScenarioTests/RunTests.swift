import Glibc
import LinuxIO
import Testing

/// Whether the kernel permits user namespaces to all.
private let makesUserNamespaces: Bool = {
  func setting(_ name: String) -> String? {
    (try? TextFile.read("/proc/sys/\(name)")).map { String(decoding: $0, as: UTF8.self).filter { !$0.isWhitespace } }
  }
  return setting("user/max_user_namespaces") != "0" && setting("kernel/unprivileged_userns_clone") != "0"
    && setting("kernel/apparmor_restrict_unprivileged_userns") != "1"
}()

/// `roamward run`, by an ordinary user.
@Suite("A program with a route of its own", .needsLab, .marksSockets)
struct RunTests {
  private func scene(_ policies: [String: String]) throws -> Scene { try Scene(policies, words: ["run.bash"]) }

  @Test("goes through its tunnel from its first packet on, with the tunnel's address, and is itself: status, signals, terminal, arguments")
  func through() throws {
    let seen = try scene(["corp.yaml": corp]).play("Run/through")
    #expect(
      seen.lines == [
        "[the watch sees what leaves outside]",
        "roamward: corp is not connected; connect it first, or have `roamward run --up` do it", "[1]",
        "roamward: no tunnel is named \"nowhere\"; known: corp", "[1]", "[brought up]",
        "[25 launches: 0 outside, 0 with another address]", "10.77.0.2", "198.51.100.23", "hello", "an  argument", "65534", "[7]",
        "Terminated", "[143]", "roamward: no-such-program is not found; nothing was started", "[127]", "[nothing runs]", "0",
      ], "\(seen)")
  }

  @Test("stays on it with all that it starts: down, the agent killed, cleaned up, roamed, 0 packets outside, while others flow")
  func life() throws {
    let seen = try scene(["corp.yaml": corp]).play("Run/life")
    #expect(
      seen.lines == [
        "[0 outside, 1 1]", "programs through corp (user 65534)", "  packets: leave by corp alone", "  group: G-through-1", "[no drift]",
        "3",
        "[down: 0 outside, others 1]", "programs through corp (user 65534)", "  packets: are blocked, because corp is down",
        "[up: 0 outside, 1]", "[killed: 0 outside, others 1]", "[cleaned up: 0 outside, others 1]", "[roamed: 0 outside, others 1]",
        "[back: 0 outside, 1 1]", "[nothing left]", "0",
      ], "\(seen)")
  }

  @Test("has its last packets sent on that route too, after its end") func orphans() throws {
    let seen = try scene(["corp.yaml": corp]).play("Run/orphans")
    #expect(
      seen.lines == [
        "[the watch sees what leaves outside]", "[sent again]", "[0 outside]", "[0 outside]",
        "note: corp: manual override: down; `roamward resume corp` ends it", "[no drift]", "0",
      ], "\(seen)")
  }

  @Test("outside passes a full tunnel and its kill switch, and nothing else does; one in the other has its own") func outside() throws {
    let seen = try scene(["corp.yaml": corpForEverything(killSwitch: "on")]).play("Run/outside")
    #expect(
      seen.lines.filter { !$0.contains("Killed") } == [
        "[1]", "[10 outside, 0 of others]", "198.51.100.23", "198.51.100.23", "10.77.0.2", "[lost: 0 of others, 1]",
        "[killed: 0 of others, 1]", "[back: 0 of others, 1 1]", "0", "[goes on]", "[nothing left]",
      ], "\(seen)")
  }

  @Test("works with the unit's capabilities, in a session of root's and in a group of the user's manager, not in another user's")
  func ofUnit() throws {
    let seen = try scene(["corp.yaml": corpForEverything(killSwitch: "on")]).play("Run/of-unit")
    let addresses = ["10.77.0.2", "198.51.100.23"]
    #expect(
      seen.lines == ["[1]"] + addresses + ["session/G-through-1"] + addresses + [
        "app/G-through-1",
        "roamward: the program does not start, because the sockets of its control group cannot be marked: the control group /other is another "
          + "user's; run the program in a session of your own", "0",
      ], "\(seen)")
  }

  @Test(
    "isolated sees nothing of this machine's network, reaches what the tunnel reaches, and ends with the command",
    .enabled(if: access("/usr/bin/pasta", X_OK) == 0, "there is no pasta: the package passt is not installed"),
    .enabled(if: makesUserNamespaces, "an ordinary user may make no user namespace here"))
  func isolated() throws {
    let seen = try Scene(["corp.yaml": corp], words: ["run.bash", "names.bash"]).play("Run/isolated")
    #expect(
      seen.lines.filter { !$0.contains("Killed") && !$0.contains("Terminated") } == [
        "roamward: a program of root is not isolated: `pasta` does not run as root; run the command as an ordinary user", "[1]",
        "10.77.0.2", "65534", "lo corp", "[7]", "10.77.0.77", "[asked at the gateway 1, in the café 0]",
        "address: reached; abstract: reached", "address: Connection refused; abstract: Connection refused", "[TERM 143]",
        "[nothing runs]", "[KILL 137]", "[nothing runs]",
        "[down: 0 outside]", "[killed: 0 outside]", "0",
      ], "\(seen)")
  }

  @Test("is a proxy: what others ask it for goes through the tunnel, by TCP and UDP, name and address, or not at all") func flows() throws {
    let seen = try Scene(["corp.yaml": corp], words: ["run.bash", "names.bash"]).play("Run/flows")
    let (refused, alone) = ("curl: (97) Can't complete SOCKS5 connection to ", "roamward-socks has no route of its own: start it by ")
    let asked = "1 at the gateway, 0 in the café"
    #expect(
      seen.lines.filter { !$0.contains("Killed") } == [
        "roamward-socks: listening at 127.0.0.1:1079: SOCKS5 (TCP, UDP) and CONNECT of HTTP",
        "roamward-socks: note: it opens nothing for now, because \(alone)`roamward run --through TUNNEL -- roamward-socks`, or name its "
          + "unit in `apps` of a policy",
        "\(refused)early.public.example. (2)", "curl: (56) CONNECT tunnel failed, response 403",
        "[asked: 0 at the gateway, 0 in the café]",
        "roamward-socks: 0.0.0.0:1080 is no loopback address: everyone who reaches it could use this proxy; --beyond-loopback allows that",
        "[64]", "roamward-socks: localhost:1080 is no address with a port: write it as 127.0.0.1:1080 or [::1]:1080", "[64]",
        "roamward-socks: listening at 127.0.0.1:1080: SOCKS5 (TCP, UDP) and CONNECT of HTTP", "[itself: 198.51.100.23]",
        "[SOCKS5: 10.77.0.2]", "[CONNECT: 10.77.0.2]", "200", "200", "[asked: \(asked); \(asked)]", "10.77.0.1", "10.77.0.1",
        "[asked: \(asked); \(asked); \(asked)]", "\(refused)127.0.0.1. (2)", "curl: (56) CONNECT tunnel failed, response 403",
        "\(refused)203.0.113.80. (5)", "100 of 100", "20 of 20", "[of its memory, MiB: below 64]", "[0 outside]",
        "[down: \(refused)203.0.113.80. (4)]", "[down: \(refused)down.public.example. (4)]",
        "[asked: 0 at the gateway, 0 in the café; 0 outside]", "[up: 10.77.0.2]", "[killed: 0 outside, 198.51.100.23 itself]", "0",
      ], "\(seen)")
  }

  @Test("has its names looked up where its packets go, by glibc, musl, Go, c-ares and Chromium, whatever resolver this machine has")
  func names() throws {
    let clients = [Client.glibc, .musl, .go, .ares, .chromium].filter(\.isPresent)
    let scene = try Scene(["corp.yaml": corp.with("search-domains", "match-domains")], words: ["run.bash", "names.bash", "clients.bash"])
    let seen = try scene.play("Run/names", with: ["CLIENTS": clients.map(\.rawValue).joined(separator: " ")])
    let asked = ["split", "list", "local"].flatMap { stage in
      ["through", "outside"].flatMap { route in
        clients.map { client in
          let (address, place) = route == "through" ? ("10.77.0.1", "gateway") : ("198.51.100.77", "cafe")
          return "\(stage) \(route) \(client): \(client == .chromium ? "asked" : address), seen at \(place)"
        }
      }
    }
    let others = ["[strangers: 1, seen 0]", "[it itself: 198.51.100.77]", "[down: no answer, seen 0]", "[others: 198.51.100.77]", "0"]
    #expect(seen.lines == asked + others, "\(seen)")
  }
}

/// `roamward app`, and a desktop's launcher.
@Suite("Programs of the desktop", .needsLab, .marksSockets)
struct AppCommandTests {
  @Test("have a route when a launcher starts them, and none once it is taken away; files of others stay as they are") func launchers()
    throws
  {
    let seen = try Scene(["corp.yaml": corp], words: ["run.bash"]).play("Run/launcher")
    let own = "SCENE/home/.local/share/applications"
    #expect(
      seen.lines == [
        "198.51.100.23", "The look (look) is started through corp from now on, by \(own)/look.desktop",
        "# `roamward app` has written this file; `roamward app remove` removes it.", "[Desktop Entry]", "Type=Application", "Name=The look",
        #"Exec=SCENE/roamward run --through corp -- curl --silent --max-time 5 -o SCENE/out/look http://203.0.113.80/cgi-bin/whoami"#,
        "X-Roamward-Route=through corp", "10.77.0.2", "The look (look) is started outside from now on, by \(own)/look.desktop",
        "Another look (kde-look) is started through corp from now on, by \(own)/kde-look.desktop", "10.77.0.2", "kde-look  through corp",
        "look  outside", "kde-look  through corp", "look  outside", "odd  no route of its own",
        "roamward: SCENE/data/applications/odd.desktop, line 4: `Exec`: ' is in double quotes, or not there; "
          + "`roamward run` starts the program without it",
        "roamward: boxed is started by flatpak, which moves it out of every control group: its packets would leave by the usual route;"
          + " use a package of the program that needs no flatpak",
        "roamward: no program has a file loo.desktop; there is kde-look, look",
        "roamward: no tunnel is named \"nowhere\"; `roamward status` lists them",
        "roamward: \"../look\" is no name of a program: write it without folder and .desktop",
        "roamward: \(own)/mine.desktop is a file of your own: put `roamward run` into its `Exec`, or move it away",
        "roamward: \(own)/mine.desktop is a file of your own, which `roamward app` has not written", "The look (look) is started as before",
        "roamward: look has no route of its own; `roamward app list` lists the programs that have one", "kde-look  through corp",
        "kde-look.desktop", "mine.desktop", "0",
      ], "\(seen)")
  }
}

/// `apps` in a policy.
@Suite("Programs that a policy names", .needsLab, .marksSockets)
struct AppsTests {
  @Test("have a tunnel for themselves: their packets and names, and no others; down, killed and back, 0 packets outside")
  func included() throws {
    let seen = try Scene([:], words: ["run.bash"]).play("Run/apps")
    #expect(
      seen.lines.filter { !$0.contains("Killed") } == [
        "[checked]", "[dev wlan0, 0]", "10.77.0.2", "198.51.100.23", "1", "0", "203.0.113.80 icmp",
        "  pass  cgroup:/G/app: its packets leave by corp or not at all (apps: include)", "  pass  corp: connected",
        "  ?     other end of corp: corp has no installed provider, which could read messages", "not known to the end", "10.77.0.2",
        "roamward: no policy names /usr/bin/env in `apps`; name its route: --through TUNNEL, or --outside", "[1]", "[no drift]",
        "[0 outside, 1]", "[down: 0 outside, others 1]", "[killed: 0 outside, others 1]", "[back: 0 outside, 1]", "198.51.100.23", "0",
      ], "\(seen)")
  }

  @Test("start their tunnel by their first packet, whatever it includes; others do not, and without its gateway nothing leaves")
  func firstPacket() throws {
    let seen = try Scene([:], words: ["run.bash", "armed.bash"]).play("Run/first-packet")
    #expect(
      seen.lines.filter { !$0.contains("Killed") } == [
        "[checked]", "armed: comes up at the first packet of cgroup:/G/app, /usr/bin/curl", "198.51.100.23", "[armed, sessions 0]",
        "10.77.0.2",
        "[idle: armed]", "10.77.0.2", "[by run: armed]", "10.77.0.2", "[dead: evaluate-connection, 0 outside, others 1]", "0",
      ], "\(seen)")
  }

  @Test("have the route of the inner one of two groups; a group that comes again and again costs no descriptor") func nested() throws {
    let seen = try Scene([:], words: ["run.bash"]).play("Run/nested")
    let addresses = ["10.77.0.2", "198.51.100.23"]
    #expect(seen.lines.filter { !$0.contains("Killed") } == ["[1]"] + addresses + addresses + ["0"], "\(seen)")
  }

  @Test("stay outside of a full tunnel, past its kill switch; that sockets from before keep their route is said") func excluded() throws {
    let seen = try Scene(["corp.yaml": corpForEverything(killSwitch: "on")], words: ["run.bash"]).play("Run/excluded")
    #expect(
      seen.lines.filter { !$0.contains("Killed") } == [
        "198.51.100.23", "10.77.0.2", "1", "203.0.113.80 icmp",
        "  pass  cgroup:/G/out: its packets leave outside of every tunnel, past kill switches (apps: exclude)",
        "it passes", "198.51.100.23",
        "0",
      ], "\(seen)")
  }
}

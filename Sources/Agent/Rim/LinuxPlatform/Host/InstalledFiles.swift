import AgentCore
package import Doctor
import KernelModel
internal import KeyMemory
internal import LinuxIO
package import NetworkTypes
internal import PolicySource
import RoamwardCore

/// The installed programs and the configuration of a host, from its files. `root`: the root folder of the paths.
package struct InstalledFiles {
  private let root: String

  package init(root: String = "") { self.root = root }

  /// networkd.conf and its drop-ins in ascending precedence (systemd-system.conf(5)). Drop-ins of all folders are ordered by name; of two
  /// with the same name the one in /etc counts.
  package var networkdConfiguration: [String] {
    var dropIns: [String: String] = [:]
    for folder in ["/usr/lib", "/usr/local/lib", "/run", "/etc"].map({ "\(root)\($0)/systemd/networkd.conf.d" }) {
      for name in Folder.names(in: folder) where name.hasSuffix(".conf") { dropIns[name] = "\(folder)/\(name)" }
    }
    return [text("\(root)/etc/systemd/networkd.conf")] + dropIns.sorted { $0.key < $1.key }.map { text($0.value) }
  }

  /// The units that targets want, from the links that `systemctl enable` makes.
  package var enabledUnits: Set<String> {
    let folder = "\(root)/etc/systemd/system"
    return Set(
      Folder.names(in: folder).filter { $0.hasSuffix(".wants") || $0.hasSuffix(".requires") }.flatMap {
        Folder.names(in: "\(folder)/\($0)")
      })
  }

  /// Tunnels of wg-quick(8) that an enabled unit starts.
  package var quickTunnels: [OtherTunnel] {
    enabledUnits.sorted().compactMap { unit in
      guard unit.hasPrefix("wg-quick@"), unit.hasSuffix(".service") else { return nil }
      let file = "\(root)/etc/wireguard/\(unit.dropFirst("wg-quick@".count).dropLast(".service".count)).conf"
      guard let bytes = try? TextFile.read(file), let read = readWireGuardQuick(bytes, file: file).configuration else { return nil }
      return OtherTunnel(owner: .unit(unit), publicKey: read.publicKey, file: file)
    }
  }

  /// NetworkManager's connections that have their key in their file, and start automatically.
  package var managedTunnels: [OtherTunnel] {
    ["/usr/lib", "/run", "/etc"].map { "\(root)\($0)/NetworkManager/system-connections" }.flatMap { folder in
      Folder.names(in: folder).compactMap { name -> OtherTunnel? in
        let settings = unitSettings(in: text("\(folder)/\(name)"))
        func value(_ section: String, _ key: String) -> UnitSetting? { settings.last { $0.section == section && $0.key == key } }
        guard value("connection", "type")?.value == "wireguard", value("connection", "autoconnect")?.isOn ?? true,
          let key = value("wireguard", "private-key").flatMap({ SecretKey(base64: $0.value) })?.publicKey
        else { return nil }
        return OtherTunnel(owner: .connection(value("connection", "id")?.value ?? name), publicKey: key, file: "\(folder)/\(name)")
      }
    }
  }

  /// The name servers of containers, from the resolv.conf of each. `address`: this machine's own on a link, the containers' bridge.
  package func containerResolvers(address: (String) -> IPAddress?) -> [ContainerResolvers] {
    // The default folders of dockerd and podman, and the default addresses of their bridges.
    let places: [(program: ContainerResolvers.Program, folder: String, file: String, bridge: String, usual: String)] = [
      (.docker, "/var/lib/docker/containers", "resolv.conf", "docker0", "172.17.0.1"),
      (.podman, "/run/containers/storage/overlay-containers", "userdata/resolv.conf", "podman0", "10.88.0.1"),
    ]
    return places.compactMap { place in
      let files = Folder.names(in: root + place.folder).map { text("\(root)\(place.folder)/\($0)/\(place.file)") }.filter { !$0.isEmpty }
      guard !files.isEmpty, let host = address(place.bridge) ?? IPAddress(place.usual) else { return nil }
      let servers = files.flatMap { ResolvConf(parsing: $0).nameServers }.uniqued()
      return ContainerResolvers(program: place.program, count: files.count, servers: servers, host: host)
    }
  }

  /// The browsers that are installed by packages, with their managed policies. The folders of Chromium's are read in the order of names.
  package var browsers: [BrowserCondition] {
    BrowserCondition.Program.allCases.compactMap { program in
      guard Self.programs(of: program).contains(where: { FileNature.exists(root + $0) }) else { return nil }
      let place = root + BrowserCondition.place(of: program)
      let mode =
        program == .firefox
        ? BrowserCondition.Mode(firefox: text(place))
        : BrowserCondition.Mode(
          chromium: Folder.names(in: place).sorted().filter { $0.hasSuffix(".json") }.map { text("\(place)/\($0)") })
      return BrowserCondition(program: program, mode: mode)
    }
  }

  private static func programs(of program: BrowserCondition.Program) -> [String] {
    switch program {
    case .chromium: ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/snap/bin/chromium"]
    case .chrome: ["/usr/bin/google-chrome", "/usr/bin/google-chrome-stable", "/opt/google/chrome/chrome"]
    case .firefox: ["/usr/bin/firefox", "/usr/bin/firefox-esr", "/snap/bin/firefox"]
    }
  }

  /// The file that nftables.service loads, if it removes all tables (`flush ruleset`).
  package var flushingRuleset: String? {
    let path = "\(root)/etc/nftables.conf"
    let lines = text(path).split(whereSeparator: \.isNewline)
    return lines.contains { $0.split(separator: " ").prefix(2) == ["flush", "ruleset"] } ? path : nil
  }
}

/// The file's text, empty if it cannot be read.
func text(_ path: String) -> String {
  (try? TextFile.read(path, limit: 1 << 20)).map { String(decoding: $0, as: UTF8.self) } ?? ""
}

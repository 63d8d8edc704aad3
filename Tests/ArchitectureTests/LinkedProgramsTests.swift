import Glibc
import LinuxIO
import TestSupport
import Testing

/// The modules and libraries that the built programs link. The process that faces strangers has none of the agent, of systemd and of
/// OpenMP; the agent has none of the engine.
@Suite struct LinkedProgramsTests {
  static let programs: [(program: String, own: [String], foreign: [String], libraries: [String])] = [
    (
      "roamward-wireguard", ["WireGuardEngine", "WireGuardDataPath"],
      ["RoamwardCore", "KernelModel", "KernelNetwork", "PolicySource", "Wire", "SystemdIO", "Agent", "ArgumentParser"],
      ["libsystemd", "libgomp", "libb2", "libgcrypt", "libnl", "libyaml", "libjansson"]
    ),
    // It runs beside every desktop, and knows the agent by D-Bus alone.
    (
      "roamward-desktop", ["DesktopService", "SystemdIO"], ["RoamwardCore", "ControlProtocol", "PolicySource", "KernelModel", "JSON"],
      ["libgomp", "libjansson", "libnl", "libyaml", "libcurl", "libgtk", "libQt"]
    ),
    // It reads what browsers send, and knows no users.
    (
      "roamward-gateway-web", ["GatewayWeb", "PageProtocol"],
      ["GatewayHost", "GatewayStore", "GatewayPage", "JSON", "KernelNetwork", "SystemdIO"],
      ["libsystemd", "libnl", "libnftables", "libpq", "libsqlite3", "libjansson", "libqrencode"]
    ),
    // libnftables has a megabyte resident, and is loaded when it is needed.
    (
      "roamwardd", ["RoamwardCore", "WireGuardControl"], ["WireGuardEngine", "WireGuardDataPath"],
      ["libgomp", "libb2", "libseccomp", "libnftables"]
    ),
    // Modules of PAM run in it.
    (
      "roamward-gateway-pam", ["GatewayPAM", "GatewayLogin"],
      ["GatewayHost", "GatewayStore", "GatewayCredentials", "GatewayAuth", "KernelNetwork", "SystemdIO"],
      ["libsystemd", "libnl", "libnftables", "libpq", "libsqlite3", "libjansson", "libqrencode", "libcurl", "libssl"]
    ),
    // Neither clients' bytes, nor an OpenID provider's, nor those of a database's server, nor modules of PAM.
    (
      "roamward-gateway", ["GatewayCore", "GatewayHost"],
      ["GatewayAuth", "GatewayOpenID", "OpenIDConnect", "GatewayPAM", "GatewayPostgreSQL"],
      ["libcurl", "libcares", "libpam", "libpq"]
    ),
  ]

  @Test("have the modules and libraries that they may have", arguments: programs)
  func program(program: String, own: [String], foreign: [String], libraries: [String]) throws {
    let path = "\(Self.folder)/\(program)"
    let modules = try Self.modules(of: path)
    #expect(modules.isSuperset(of: own), "the check reads no symbols of \(path)")
    #expect(modules.isDisjoint(with: foreign), "\(program) has \(modules.intersection(foreign).sorted())")
    let linked = try shell("ldd \(path)")
    #expect(linked.contains("libc.so"), "\(linked)")
    for library in libraries {
      #expect(!linked.contains("\(library).so") && !linked.contains("\(library)-"), "\(program) links \(library)")
    }
  }

  @Test("the check sees modules in mangled names") func detector() {
    let names = Self.modules(in: Array("$s15WireGuardEngine6DeviceC\0_$s4Wire3abcV\0$sSo\0s99Short".utf8))
    #expect(names == ["WireGuardEngine", "Wire"])
  }

  /// The modules whose names begin a mangled symbol (`$s`, the length, the name) in the program's file.
  private static func modules(of path: String) throws -> Set<String> { modules(in: try TextFile.read(path, limit: 1 << 28)) }

  private static func modules(in bytes: [UInt8]) -> Set<String> {
    var found = Set<String>()
    var i = 0
    while i + 3 < bytes.count {
      defer { i += 1 }
      guard bytes[i] == UInt8(ascii: "$"), bytes[i + 1] == UInt8(ascii: "s") else { continue }
      var place = i + 2
      var length = 0
      while place < bytes.count, (48...57).contains(bytes[place]), length < 100 {
        length = length * 10 + Int(bytes[place] - 48)
        place += 1
      }
      guard length > 0, place + length < bytes.count else { continue }
      let name = bytes[place..<place + length]
      guard name.allSatisfy({ (65...90).contains($0) || (97...122).contains($0) || (48...57).contains($0) || $0 == 95 }) else { continue }
      found.insert(String(decoding: name, as: UTF8.self))
    }
    return found
  }

  /// The folder in which the tests and programs were built.
  static var folder: String {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/self/exe", &buffer, buffer.count)
    return Folder.parent(of: String(decoding: buffer.prefix(max(0, count)).map(UInt8.init(bitPattern:)), as: UTF8.self))
  }
}

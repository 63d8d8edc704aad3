import KernelModel
package import NetworkTypes

// The type of a link: its medium, and the radio's facts.

private let type = FactDeclaration(
  .type, ofLink: \.type, .word, silence: .never, isGatheredAlways: true,
  "The type; absent: wifi if a Wi-Fi key is given, else other.", example: "wifi"
) { facts, link, _ in facts.medium(of: link).type }

private let ssid = FactDeclaration(
  .ssid, ofLink: \.ssid, .optional(.text(.ssid, { SSID($0) }, \.textForFiles, text: quoted)), silence: .means(.absent),
  space: .names(NameSpace(lengths: 1...32, text: { SSID(bytes: $0)?.description })), isOfRadio: true, isGatheredAlways: true,
  "The Wi-Fi network's name.", example: "Cafe"
) { facts, link, _ in facts.medium(of: link).ssid }

private let bssid = FactDeclaration(
  .bssid, ofLink: \.bssid, .optional(.text(.hardwareAddress, { MACAddress($0) }, \.description)), silence: .means(.absent),
  space: .hardwareAddresses, proof: .hardToForge, isOfRadio: true, "The access point's MAC address.", example: "02:00:5e:00:00:07"
) { facts, link, known in facts.radio(\.bssid, of: link, known, "access point") { $0?.description ?? "none" } }

private let wifiSecurity = FactDeclaration(
  .wifiSecurity, ofLink: \.wifiSecurity, .optional(.word), silence: .means(.absent), isOfRadio: true,
  "The security of the Wi-Fi network.", example: "wpa2"
) { facts, link, known in facts.radio(\.security, of: link, known, "security") { $0?.rawValue ?? "none" } }

let mediumFacts = [type, ssid, bssid, wifiSecurity]

/// The link's name is not a key of its own in snapshot files: it is the key of the link.
let linkName = FactDeclaration(
  known: "name", ofLink: \.name, .text(.line, { $0 }, { $0 }), silence: .never,
  // `dev_valid_name` of linux/net/core/dev.c.
  space: .names(
    NameSpace(
      lengths: 1...15, isAllowed: { $0 > 0x20 && $0 < 0x7f && $0 != 0x2f && $0 != 0x3a },
      isForbidden: { $0 == [UInt8(ascii: ".")] || $0 == [UInt8(ascii: "."), UInt8(ascii: ".")] },
      text: { String(validating: $0, as: UTF8.self) })),
  "The link's name.", example: "wlan0")

// MARK: Keys of a match

extension FactTable {
  package static let interface = CriterionKey<[InterfaceType]>(
    "interface", kind: .type, fact: type.key, "The type of the primary link.", example: "[wifi, cellular]",
    reading: .list(.word(of: InterfaceType.self)) { $0.compactMap { InterfaceType(rawValue: $0) } },
    write: { .list($0.map(\.rawValue)) },
    marks: Marking(wanted: { $0.marks { Marks(word: $0) } }, found: { $0.link.type.marks { Marks(word: $0) } }),
    holds: { types in { context in context.link.type.truth { types.contains($0) } } },
    found: { context, types, holds in
      describe(context.link.type, as: "interface") { found in
        holds == .yes ? found.rawValue : "\(found.rawValue) is \(none(of: types.map(\.rawValue)))"
      }
    })

  static let interfaceName = CriterionKey<[Glob]>(
    "interface-name", kind: nil, fact: linkName.key, "A pattern for the primary link's name: `*` any run, `?` any character.",
    example: "wl*", reading: .list(.linkPattern) { $0.map { Glob($0) } }, write: { .list($0.map(\.description)) },
    constants: { $0.map { .pattern($0) } },
    marks: Marking(wanted: { $0.marks { Marks($0) } }, found: { Marks(ofPatternsFor: Array($0.link.name.utf8)) }),
    holds: { globs in { context in Truth(globs.contains { $0.matches(context.link.name) }) } },
    found: { context, globs, holds in "interface-name \(context.link.name) \(relation(holds, to: globs.map(\.description)))" })

  package static let ssid = CriterionKey<[SSID]>(
    oneOf: "ssid", RoamwardCore.ssid, "The name of the Wi-Fi network, byte for byte.", example: "[Home, \"Home 5G\"]", form: .wantedSSID,
    parse: { SSID($0) }, print: \.description, quotes: true, constant: { .name($0.bytes) },
    mark: { Marks($0) }, marks: { Marks($0) }, matches: { $0.contains($1) },
    of: { $0.link.ssid }, text: quoted)

  static let ssidGlob = CriterionKey<[Glob]>(
    oneOf: "ssid-glob", RoamwardCore.ssid, "A pattern for the name of the Wi-Fi network.", example: "Corp-*", form: .ssidPattern,
    parse: { Glob($0) }, print: \.description, as: "ssid", constant: { .pattern($0) },
    mark: { Marks($0) }, marks: { Marks(ofPatternsFor: $0.bytes) },
    matches: { globs, name in globs.contains { $0.matches(bytes: name.bytes) } }, of: { $0.link.ssid }, text: quoted)

  static let bssid = CriterionKey<[MACAddress]>(
    oneOf: "bssid", RoamwardCore.bssid, "The access point's MAC address (BSSID).", example: "02:00:5e:00:00:07", form: .hardwareAddress,
    parse: { MACAddress($0) }, print: \.description, constant: { .hardwareAddress($0) },
    mark: { Marks($0) }, marks: { Marks($0) }, matches: { $0.contains($1) }, of: { $0.link.bssid }, text: \.description)

  static let wifiSecurity = CriterionKey<[WiFiSecurity]>(
    oneOf: "wifi-security", RoamwardCore.wifiSecurity, "The security of the Wi-Fi network.", example: "[wpa3, wpa2-enterprise]",
    form: .word(of: WiFiSecurity.self), parse: { WiFiSecurity(rawValue: $0) }, print: \.rawValue,
    mark: { Marks(word: $0) }, marks: { Marks(word: $0) }, matches: { $0.contains($1) }, of: { $0.link.wifiSecurity }, text: \.rawValue)

  /// Whether the SSID is on the list of a file. A machine that is not on Wi-Fi is on no list, readable or not. Others may change the list
  /// at any time. So an analysis assumes that any SSID may or may not be on it.
  package static let ssidFile = CriterionKey<SSIDFile>(
    "ssid-file", kind: .ssid, fact: nil, "A file with one SSID per line, relative to the policy; reloaded when it changes.",
    example: "trusted.ssids", reading: .own, write: { .text($0.path) },
    question: { .own("ssid-file \($0.path)", below: RoamwardCore.ssid.key, proof: .forgeable) },
    holds: { file in
      { context in
        switch (context.link.ssid, file.contents) {
        case (.known(nil), _): .no
        case (.known(let name?), .entries(let entries)): Truth(entries.contains(name))
        case (_, .unreadable), (.unknown, _): .unknown
        }
      }
    },
    found: { context, file, holds in
      describe(context.link.ssid, as: "ssid") { found in
        guard let found else { return "no ssid" }
        if case .unreadable(let reason) = file.contents { return "ssid-file \(file.path) cannot be read: \(reason)" }
        return "ssid \(quoted(found)) is \(holds == .yes ? "" : "not ")in \(file.path)"
      }
    })
}

let mediumKeys: [any AnyCriterionKey] = [
  FactTable.interface, FactTable.interfaceName, FactTable.ssid, FactTable.ssidGlob, FactTable.bssid, FactTable.wifiSecurity,
  FactTable.ssidFile,
]

extension Condition {
  /// The primary link is of one of these types.
  package static func interface(_ types: [InterfaceType]) -> Condition { FactTable.interface(types) }
  /// The primary link's name matches one of these patterns (`*` and `?`).
  package static func interfaceName(_ patterns: [Glob]) -> Condition { FactTable.interfaceName(patterns) }
  /// The primary link is Wi-Fi and its SSID is one of these, byte for byte.
  package static func ssid(_ names: [SSID]) -> Condition { FactTable.ssid(names) }
  /// The primary link is Wi-Fi and its SSID matches one of these patterns.
  package static func ssidGlob(_ patterns: [Glob]) -> Condition { FactTable.ssidGlob(patterns) }
  /// The primary link is Wi-Fi and its access point has one of these hardware addresses.
  package static func bssid(_ addresses: [MACAddress]) -> Condition { FactTable.bssid(addresses) }
  /// The primary link is Wi-Fi and its SSID is on the list in this file.
  package static func ssidFile(_ file: SSIDFile) -> Condition { FactTable.ssidFile(file) }
  /// The primary link is Wi-Fi and is protected in one of these ways.
  package static func wifiSecurity(_ kinds: [WiFiSecurity]) -> Condition { FactTable.wifiSecurity(kinds) }
}

private func quoted(_ ssid: SSID) -> String { "\"\(ssid)\"" }

extension SSID {
  /// The SSID in bytes if a file may not contain it as text.
  fileprivate var textForFiles: String {
    let text = description
    guard text.unicodeScalars.contains(where: isRefusedInFiles) else { return text }
    return "hex:" + bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}

/// Whether a file may not contain the character: controls, Unicode line ends, byte order marks and code points without a character.
private func isRefusedInFiles(_ scalar: Unicode.Scalar) -> Bool {
  switch scalar.value {
  case 0..<0x20, 0x7f..<0xa0, 0x2028, 0x2029, 0xfeff, 0xfffe, 0xffff: true
  default: false
  }
}

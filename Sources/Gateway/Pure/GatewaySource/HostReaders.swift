import GatewayCore
import GatewayLogin
import NetworkTypes
import PolicySource
import RoamwardCore

// Settings of this gateway alone.

/// Settings below one key of a file, as texts.
struct TextDraft: Sendable { var texts: [SettingFile: String] = [:] }

let loginKeys = Mapping(
  subject: "`logins`", draft: TextDraft(),
  keys: [
    Key("banner", .text(upTo: 1024), "A text that each person accepts at a login.", example: "Members only") {
      $0.texts[.banner] = $1
    },
    Key(
      "openid", expects: "the keys of `openid`", schema: openIDKeys.schema, "Sign-ins at an OpenID provider.",
      example: "{ issuer: https://login.example, client-id: roamward }"
    ) {
      entry, draft, reading in
      guard let settings = openIDKeys.read(entry.value, &reading), !settings.issuer.isEmpty, !settings.clientID.isEmpty else { return }
      if let fault = settings.fault { return reading.error(fault.text, help: fault.help, at: entry.keyLocation) }
      draft.texts[.openID] = settings.text
    },
    Key(
      "pam", expects: "the keys of `pam`", schema: pamKeys.schema, "Passwords that a PAM service checks.", example: "{ service: roamward }"
    ) {
      entry, draft, reading in
      guard let settings = pamKeys.read(entry.value, &reading), !settings.service.isEmpty else { return }
      if let fault = settings.fault { return reading.error(fault.text, help: fault.help, at: entry.keyLocation) }
      draft.texts[.pam] = settings.text
    },
  ])

extension ValueReader where Value == String {
  /// A title of the page.
  static let pageTitle = ValueReader("one line that fits on a phone", schema: .text(pattern: "^[^\\n]+$")) { text in
    PageSettings.isTitle(text) ? text : nil
  }

  /// Text of one or more lines.
  static func text(upTo limit: Int) -> ValueReader {
    ValueReader("text of at most \(limit) bytes", schema: .text(pattern: "^[\\s\\S]+$")) { text in
      (1...limit).contains(text.utf8.count) ? text : nil
    }
  }

  /// An absolute path without blanks at its ends.
  static let path = ValueReader("an absolute path", schema: .string(pattern: "^/[^\\n]*$")) { text in
    text.hasPrefix("/") && !text.contains("\n") ? text : nil
  }
}

let openIDKeys = Mapping(
  subject: "`openid`", draft: OpenIDSettings(issuer: "", clientID: ""),
  keys: [
    Key(required: "issuer", .line, "The provider, exactly as its ID tokens name it.", example: "https://login.example.com/realms/corp") {
      $0.issuer = $1
    },
    Key(required: "client-id", .line, "The client that this gateway is there.", example: "roamward") { $0.clientID = $1 },
    Key(
      "client-secret-file", .path, "The file with the client's secret, in its first line.", example: "/etc/roamward-gateway/openid-secret"
    ) {
      $0.secretFile = $1
    },
    Key("authority-file", .path, "Certificates (PEM) to verify the provider's by.", example: "/etc/ssl/corp.pem") { $0.authorityFile = $1 },
    Key("user-claim", .line, "The claim that has the user's name.", standard: "preferred_username", example: "email") { $0.userClaim = $1 },
    Key("groups-claim", .line, "The claim that has the groups.", standard: "groups", example: "realm_access.roles") { $0.groupsClaim = $1 },
    Key("scopes", .oneOrMore(.line), "What to ask for beside `openid`.", standard: "[profile]", example: "[profile, email]") {
      $0.scopes = ["openid"] + $1.filter { $0 != "openid" }
    },
    Key(
      "groups", expects: "values by group", schema: .named(gatewayNamePattern, .anyText),
      "Groups whose members the provider decides on, with its value for each.", example: "{ staff: Engineering }"
    ) { entry, settings, reading in
      for group in entries(of: entry, "values by group", &reading) {
        guard let name = name(of: group, "a group", &reading), let value = ValueReader<String>.line.read(group.value, &reading) else {
          continue
        }
        settings.groups.append(OpenIDSettings.Mapping(group: name, value: value))
      }
    },
    Key("create-users", .boolean, "Whether a user is added at the first login.", standard: "false", example: "true") {
      $0.createsUsers = $1
    },
  ])

let pamKeys = Mapping(
  subject: "`pam`", draft: PAMSettings(service: ""),
  keys: [
    Key(required: "service", .line, "A file in /etc/pam.d.", example: "roamward") { $0.service = $1 },
    Key("create-users", .boolean, "Whether a user is added at the first login.", standard: "false", example: "true") {
      $0.createsUsers = $1
    },
    Key("timeout", .number(1...15), "Seconds that a check may take.", standard: "15", example: "5") { $0.seconds = Int($1) },
  ])

struct RelayDraft: Sendable { var port: UInt16 = 443 }

let relayKeys = Mapping(
  subject: "`relay`", draft: RelayDraft(),
  keys: [Key("port", .number(1...65535), "The TCP port.", standard: "443", example: "8443") { $0.port = UInt16($1) }])

let pageKeys = Mapping(
  subject: "`page`", draft: PageSettings(),
  keys: [
    Key("port", .number(1...65535), "The TCP port at the gateway's addresses in the tunnel.", standard: "80", example: "8080") {
      $0.port = UInt16($1)
    },
    Key(
      "administrators", .gatewayName, "The group whose members see everything, end sessions, lock users and invite them.", example: "admins"
    ) { $0.administrators = $1 },
    Key("operators", .gatewayName, "The group whose members see everything, and end sessions.", example: "support") { $0.operators = $1 },
    Key("title", .pageTitle, "The title that people see, as the company's name.", example: "Example Corp") { $0.title = $1 },
    Key("names", .oneOrMore(.domain), "Further names of the page.", example: "[gateway.corp.example]") { $0.names = $1.map(\.text) },
  ])

let storeKeys = Mapping(
  subject: "`store`", draft: TextDraft(),
  keys: [
    Key("stale-after", .staleAge, "The time without the store's server after which all sessions end.", example: "24h") {
      $0.texts[.staleAfter] = "\($1.components.seconds)\n"
    }
  ])

extension ValueReader where Value == Duration {
  /// The store is asked every 5 seconds.
  static let staleAge: ValueReader = {
    let duration = ValueReader<Duration>.positiveDuration
    return ValueReader(expected: "a duration of 15s or more, such as 24h", schema: duration.schema) { node, reading in
      guard let length = duration.read(node, &reading) else { return nil }
      if length >= .seconds(15) { return length }
      reading.expected("a duration of 15s or more, such as 24h", at: node)
      return nil
    }
  }()
}

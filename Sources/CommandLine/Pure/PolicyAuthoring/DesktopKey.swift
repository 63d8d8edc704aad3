/// The keys of a file for launchers that another one keeps, in the order in which they are written.
enum DesktopKey: String, CaseIterable, Sendable {
  case type = "Type"
  case version = "Version"
  case name = "Name"
  case genericName = "GenericName"
  case comment = "Comment"
  case icon = "Icon"
  case keywords = "Keywords"
  case categories = "Categories"
  case mimeTypes = "MimeType"
  case noDisplay = "NoDisplay"
  case onlyShownIn = "OnlyShowIn"
  case notShownIn = "NotShowIn"
  case tried = "TryExec"
  case folder = "Path"
  case terminal = "Terminal"
  case actions = "Actions"
  case notifiesStart = "StartupNotify"
  case windowClass = "StartupWMClass"
  case otherGraphics = "PrefersNonDefaultGPU"
  case singleWindow = "SingleMainWindow"

  enum Form: Sendable {
    case text, flag, list

    func admits(_ text: String) -> Bool {
      switch self {
      case .text, .list: !text.unicodeScalars.contains { $0 == "\n" || $0 == "\r" }
      case .flag: ["true", "false"].contains(text)
      }
    }

    var words: String {
      switch self {
      case .text: "one line of text"
      case .flag: "true or false"
      case .list: "a list in one line"
      }
    }
  }

  var form: Form {
    switch self {
    case .noDisplay, .terminal, .notifiesStart, .otherGraphics, .singleWindow: .flag
    case .keywords, .categories, .mimeTypes, .onlyShownIn, .notShownIn, .actions: .list
    default: .text
    }
  }

  /// Whether it may have a language.
  var isTranslated: Bool { [.name, .genericName, .comment, .icon, .keywords].contains(self) }

  /// Whether an action may have it.
  var isOfActions: Bool { [.name, .icon].contains(self) }
}

/// A page of an OpenID provider at which the person enters a code (RFC 8628, 3.3).
package struct SignInPage: Hashable, Sendable {
  /// The page where the code is entered.
  package let url: String
  /// The same page with the code in it; `nil`: the provider has none, or it is too long.
  package let completeURL: String?
  package let code: String
  /// The validity of the code, in seconds.
  package let seconds: UInt16

  /// The most bytes of a URL, and of a code.
  package static let urlLimit = 400
  package static let codeLimit = 64

  /// `nil` if the page is no `https` URL, or the code is not printable: both are shown to a person. All of it is ASCII.
  package init?(url: String, completeURL: String?, code: String, seconds: UInt16) {
    guard Self.isPage(url), (1...Self.codeLimit).contains(code.utf8.count), code.utf8.allSatisfy({ (0x20...0x7e).contains($0) }) else {
      return nil
    }
    self.url = url
    self.completeURL = completeURL.flatMap { Self.isPage($0) ? $0 : nil }
    self.code = code
    self.seconds = seconds
  }

  private static func isPage(_ url: String) -> Bool {
    url.hasPrefix("https://") && url.utf8.count <= urlLimit && url.utf8.allSatisfy { (0x21...0x7e).contains($0) }
  }

  func frame(_ kind: UInt8) -> LoginFrame {
    var frame = LoginFrame(kind)
    frame.add(1, [LoginMethod.openID.rawValue])
    frame.add(2, "")
    frame.add(3, url)
    frame.add(4, code)
    frame.add(5, LoginFrame.bigEndian(Int(seconds)))
    if let completeURL { frame.add(6, completeURL) }
    return frame
  }

  init(_ frame: LoginFrame) throws(LoginFrameError) {
    let seconds = try frame.value(5, 2...2)
    let complete = frame[6] == nil ? nil : try frame.text(6, 1...Self.urlLimit)
    guard
      let page = SignInPage(
        url: try frame.text(3, 1...Self.urlLimit), completeURL: complete, code: try frame.text(4, 1...Self.codeLimit),
        seconds: UInt16(seconds[0]) << 8 | UInt16(seconds[1]))
    else { throw .field }
    self = page
  }
}

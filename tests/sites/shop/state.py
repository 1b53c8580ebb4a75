"""The state of the shop between requests: numbers come from counters, never from a clock or random source."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.sites.shop.catalogue import COUPONS, WISHLIST, Product, find_product


@dataclass(frozen=True, slots=True, kw_only=True)
class CartLine:
    """One product in a cart."""

    product: Product
    quantity: int
    gift: bool = False
    wrap: str = "red"
    note: str = ""

    @property
    def cents(self) -> int:
        """Return the price of the line."""
        return self.product.cents * self.quantity


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A finished order."""

    number: int
    fields: tuple[tuple[str, str], ...]
    lines: tuple[CartLine, ...]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """A customer's review."""

    author: str
    text: str


@dataclass(slots=True, kw_only=True)
class Session:
    """One visitor, signed in or not."""

    id: str
    user: str | None = None
    coupon: str = ""
    cart: dict[int, CartLine] = field(default_factory=dict)
    wishlist: tuple[int, ...] = WISHLIST

    @property
    def name(self) -> str:
        """Return the name that the pages show."""
        return self.user or "guest"

    @property
    def count(self) -> int:
        """Return the number of items in the cart."""
        return sum(line.quantity for line in self.cart.values())

    @property
    def total(self) -> int:
        """Return the total of the cart in cents, minus the coupon."""
        full = sum(line.cents for line in self.cart.values())
        return full - full * COUPONS.get(self.coupon, 0) // 100


def _sample_order() -> Order:
    bread = find_product(5)
    if bread is None:
        raise LookupError("the sample order needs product 5")
    line = CartLine(product=bread, quantity=2)
    return Order(number=1000, fields=(("name", "Ada"), ("delivery", "standard")), lines=(line,), total=line.cents)


@dataclass(slots=True, kw_only=True)
class ShopState:
    """The whole state of one shop; fresh with every server."""

    change: str | None = None
    sessions: dict[str, Session] = field(default_factory=dict)
    orders: dict[int, Order] = field(default_factory=lambda: {1000: _sample_order()})
    reviews: dict[int, tuple[Review, ...]] = field(
        default_factory=lambda: {1: (Review(author="Grace", text="Sweet and cheap."),)}
    )

    def open_session(self, user: str | None = None, before: Session | None = None) -> Session:
        """Start a session under the next number, with the cart and the lists of the previous one."""
        session = Session(id=f"s{len(self.sessions) + 1}", user=user)
        if before is not None:
            session.cart, session.coupon, session.wishlist = dict(before.cart), before.coupon, before.wishlist
        self.sessions[session.id] = session
        return session

    def place_order(self, session: Session, fields: dict[str, str]) -> Order:
        """Turn the cart into an order under the next number."""
        order = Order(
            number=1000 + len(self.orders),
            fields=tuple(fields.items()),
            lines=tuple(session.cart.values()),
            total=session.total,
        )
        self.orders[order.number] = order
        session.cart, session.coupon = {}, ""
        return order

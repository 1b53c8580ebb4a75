"""Users that wait, for Locust."""

from locust import User, between, task


class Visitor(User):
    """Does nothing."""

    wait_time = between(1, 2)

    @task
    def look(self):
        """Count as one request."""
        self.environment.events.request.fire(
            request_type="LOOK", name="page", response_time=5, response_length=10, exception=None, context={}
        )
